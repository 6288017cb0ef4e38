"""What every test may rely on."""

import os

import pytest
from hypothesis import settings

# The suite is one fixed set of examples, so that what passes here passes there; `make explore` looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("fixed")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Worlds are made here unless a test says otherwise, whatever data the machine has.

    No fixture: those of a wider scope come first, and importing `alfworld` in one test sets a variable for the next.
    """
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        os.environ.pop(variable, None)
