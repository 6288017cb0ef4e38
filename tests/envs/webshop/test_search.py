"""The ranking is Lucene's: what it answered was recorded by `record_search`."""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from rollback_gym.envs.webshop import search, stored, views
from rollback_gym.envs.webshop.data import open_catalogue
from rollback_gym.envs.webshop.rules import WebShopRules
from rollback_gym.envs.webshop.search import Index, build, hits, open_index, searched_text
from rollback_gym.envs.webshop.types import START, Catalogue
from tests.envs.webshop.shops import LongWords, plain_goals, product

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="ascii"))


def index_of(documents: dict[str, str]) -> Index:
    return Index(build(documents.items()))


def test_lucenes_ranking_of_the_catalogue() -> None:
    recorded, catalogue = golden("search.json"), open_catalogue()
    assert recorded["catalogue"] == catalogue.digest, "the catalogue has changed: record anew with record_search"
    assert len(recorded["rankings"]) == 1000
    wrong = [query for query, ranking in recorded["rankings"].items() if list(hits(catalogue, query)) != ranking]
    assert wrong == []


def test_lucenes_ranking_of_hostile_documents() -> None:
    recorded = golden("search_hostile.json")
    index = index_of(recorded["documents"])
    wrong = [query for query, ranking in recorded["rankings"].items() if list(index.search(query)) != ranking]
    assert wrong == []


def test_equal_scores_come_by_asin() -> None:
    index = index_of({"B2": "red shoe", "B10": "red shoe", "b1": "red shoe", "A9": "shoe red"})
    assert index.search("red") == (3, 1, 0, 2)


def test_a_tie_at_the_limit_goes_to_the_smaller_asin() -> None:
    index = index_of({f"B{number:02}": "red shoe" for number in reversed(range(70))})
    assert index.search("shoe") == tuple(range(69, 19, -1))
    assert index.search("shoe", limit=3) == (69, 68, 67)


def test_a_repeated_word_counts_as_often() -> None:
    index = index_of({"A": "red shoe", "B": "blue shoe", "C": "blue hat"})
    once, twice = index.scores("red"), index.scores("red RED")
    assert twice[0] == pytest.approx(2 * once[0])
    assert index.search("blue red shoe")[0] == 0
    assert index.search("blue blue blue red shoe")[0] == 1


@pytest.mark.parametrize("query", ["", " ", "the with", "unheard", "\ud800", "[", "a" * 100_000])
def test_nothing_is_found(query: str) -> None:
    assert index_of({"A": "red shoe"}).search(query) == ()


def test_nothing_to_search() -> None:
    for documents in ({}, {"A": ""}, {"A": "the", "B": " "}):
        assert index_of(documents).search("red the") == ()


def test_more_than_1024_different_terms() -> None:
    text = " ".join(f"w{number}" for number in range(3000))
    assert index_of({"A": text, "B": "w1 w2"}).search(text) == (0, 1)


@pytest.mark.parametrize(
    ("length", "kept"), [(0, 0), (23, 23), (24, 24), (39, 39), (40, 40), (41, 40), (42, 42), (75, 72), (1000, 984)]
)
def test_length_in_one_byte(length: int, kept: int) -> None:
    assert search._kept_length(length) == kept


def test_what_is_searched() -> None:
    options = (("size", ("small", "x | large")), ("color", ("red",)))
    item = product("A", "Plain SHIRT", description="Nice.", bullets=("First", "Second"), options=options)
    assert searched_text(item) == "plain shirt nice. first size: small, x | large, and color: red"
    with pytest.raises(ValueError, match="B has no bullet"):
        searched_text(product("B", bullets=()))


def test_one_index_for_all() -> None:
    catalogue = Catalogue((product("A", "Red Shoe"),), LongWords())
    found: list[Index] = []
    threads = [threading.Thread(target=lambda: found.append(open_index(catalogue))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    assert hits(catalogue, "shoes") == (0,)


# The cache.


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROLLBACK_GYM_CACHE", str(tmp_path))
    return tmp_path / "webshop"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def arrays() -> stored.Arrays:
    return {"a": np.arange(5, dtype=np.int32), "none": np.zeros(0, dtype=np.float32), "b": np.ones(3)}


def unexpected() -> stored.Arrays:
    raise AssertionError("made again")


def same(found: stored.Arrays) -> bool:
    return all(np.array_equal(found[name], array) for name, array in arrays().items())


def test_kept_between_processes(cache: Path) -> None:
    assert same(stored.kept("x", arrays))
    found = stored.kept("x", unexpected)
    assert same(found)
    assert not found["a"].flags.writeable
    assert files(cache) == ["x"]


@pytest.mark.parametrize("keep", [0, 3, 20, 300, 65_000, -1])
def test_a_shortened_file_is_made_again(cache: Path, keep: int) -> None:
    stored.kept("x", arrays)
    content = (cache / "x").read_bytes()
    (cache / "x").write_bytes(content[:keep])
    with pytest.warns(UserWarning, match="damaged"):
        assert same(stored.kept("x", arrays))
    assert same(stored.kept("x", unexpected))


@pytest.mark.parametrize("place", [0, 9, 20, 65_537, -1])
def test_a_changed_byte_is_noticed(cache: Path, place: int) -> None:
    stored.kept("x", arrays)
    content = bytearray((cache / "x").read_bytes())
    content[place] ^= 1
    (cache / "x").write_bytes(content)
    with pytest.warns(UserWarning, match="damaged"):
        assert same(stored.kept("x", arrays))


@pytest.mark.parametrize(
    "header",
    [
        b"\xc1",
        msgpack.packb(7),
        msgpack.packb([1]),
        msgpack.packb([["a", "|O", 5, 1 << 16]]),
        msgpack.packb([["a", "no type", 5, 1 << 16]]),
        msgpack.packb([["a", "<i4", 5, 1 << 40]]),
        msgpack.packb([["a", "<i4", 5, 0]]),
        msgpack.packb([["a", "<i4", -1, 1 << 16]]),
        msgpack.packb([["a", "<i4", 1 << 40, 1 << 16]]),
        msgpack.packb([["a", "<i4", "5", 1 << 16]]),
    ],
)
def test_a_header_that_is_none(cache: Path, header: bytes) -> None:
    stored.kept("x", arrays)
    content = (cache / "x").read_bytes()
    forged = content[:8] + len(header).to_bytes(4, "little") + header + content[12 + len(header) : -16]
    (cache / "x").write_bytes(forged + hashlib.blake2b(forged, digest_size=16).digest())
    with pytest.warns(UserWarning, match="damaged"):
        assert same(stored.kept("x", arrays))


def test_a_search_that_fails_is_no_refused_action(monkeypatch: pytest.MonkeyPatch) -> None:
    level = plain_goals().level(0)

    def fail(*_: object) -> None:
        raise ValueError("a damaged index")

    monkeypatch.setattr(views, "hits", fail)
    with pytest.raises(ValueError, match="a damaged index"):
        WebShopRules().step(level, START, "search[shoes never searched for]")


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROLLBACK_GYM_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="ROLLBACK_GYM_CACHE"):
        assert same(stored.kept("x", arrays))


def test_a_failed_write_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.warns(UserWarning, match="No space left"):
        assert same(stored.kept("x", arrays))
    assert files(cache) == []


def test_many_writers_at_once(cache: Path) -> None:
    script = (
        "import warnings; warnings.simplefilter('error')\n"
        "from rollback_gym.envs.webshop.search import hits\n"
        "from rollback_gym.envs.webshop.data import open_catalogue\n"
        "print(hits(open_catalogue(), 'red wine dress'))\n"
    )
    environment = {**os.environ, "ROLLBACK_GYM_CACHE": str(cache.parent)}
    runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    answers = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(answers) == 1
    assert sorted(name.rpartition(".")[2] for name in files(cache)) == ["catalogue", "index"]


def test_what_killed_writers_left_is_removed(cache: Path) -> None:
    cache.mkdir()
    for name in ("x.abc.unfinished", "y.abc.unfinished"):
        (cache / name).write_bytes(b"part")
    stored.kept("x", arrays)
    assert files(cache) == ["x", "y.abc.unfinished"]


def test_without_locks(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", fail)
    assert same(stored.kept("x", arrays))
    assert same(stored.kept("x", unexpected))


def test_others_wait_for_the_one_that_makes_it(cache: Path) -> None:
    made: list[int] = []

    def slowly() -> stored.Arrays:
        made.append(1)
        time.sleep(0.2)
        return arrays()

    threads = [threading.Thread(target=lambda: stored.kept("x", slowly)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
