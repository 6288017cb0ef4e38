"""What every test may rely on."""

import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Worlds are made here unless a test says otherwise, whatever data the machine has.

    No fixture: those of a wider scope come first, and importing `alfworld` in one test sets a variable for the next.
    """
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        os.environ.pop(variable, None)
