"""Every test plays the worlds that are made here, whatever the machine has."""

import pytest


@pytest.fixture(autouse=True)
def no_data_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    # Importing alfworld sets it, too.
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
