"""Every recorded episode, played again: each difference in what an environment says or does is seen."""

import pytest

from tests.playthroughs.regenerate import DATA, SEEDS, ids, path, playthrough


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("id", ids())
def test_playthrough(id: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in DATA:
        monkeypatch.delenv(variable, raising=False)
    file = path(id, seed)
    assert file.is_file(), f"{file.name} is missing: python -m tests.playthroughs.regenerate {file.name.split('-')[0]}"
    assert playthrough(id, seed).split("\n") == file.read_text(encoding="utf-8").split("\n")
