"""What every test may rely on."""

import pytest


@pytest.fixture(autouse=True)
def _no_data_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds are made here unless a test says otherwise, whatever data the machine has."""
    for variable in ("ALFWORLD_DATA", "WEBSHOP_DATA"):
        monkeypatch.delenv(variable, raising=False)
