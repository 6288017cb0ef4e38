"""Level files: what is read, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollback_gym import DataError
from rollback_gym.envs.sokoban.data import Collection, parse
from rollback_gym.envs.sokoban.text import LAYOUTS

BOXOBAN = """; 0
#####
#@$.#
#####

; 1
#####
# $.#
# @ #
#####
"""
COLLECTION = """Two of Sokoban, by nobody
Title: first

  ####
###  #
#@$ .#
######
Title: second
Author: nobody

8#|#-p-b-o#|#2-B3-#|8#
"""


def drawn(collection: Collection, id: str) -> str:
    level = collection.level(id)
    return LAYOUTS["plain"].describe(level, level.start)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "medium" / "train").mkdir(parents=True)
    (tmp_path / "medium" / "valid").mkdir()
    (tmp_path / "medium" / "train" / "001.txt").write_text(BOXOBAN)
    (tmp_path / "medium" / "train" / "000.txt").write_text(BOXOBAN)
    (tmp_path / "medium" / "valid" / "000.txt").write_text(BOXOBAN)
    (tmp_path / "extra.SOK").write_text(COLLECTION)
    (tmp_path / "README.md").write_text("#####\n#@$.#\n#####\n")
    return tmp_path


def test_a_folder(folder: Path) -> None:
    collection = Collection(folder)
    assert collection.ids()[:3] == ("extra.SOK#0", "extra.SOK#1", "medium/train/000.txt#0")
    assert len(collection.ids()) == 8
    assert collection.ids("valid") == ("medium/valid/000.txt#0", "medium/valid/000.txt#1")
    assert collection.size == (4, 8)


def test_a_file(folder: Path) -> None:
    collection = Collection(folder / "medium" / "train" / "000.txt")
    assert collection.ids() == ("000.txt#0", "000.txt#1")
    assert drawn(collection, "000.txt#1") == "#####\n#_XO#\n#_P_#\n#####"


def test_the_notations(folder: Path) -> None:
    collection = Collection(folder / "extra.SOK")
    assert drawn(collection, "extra.SOK#0") == "######\n###__#\n#PX_O#\n######"
    assert drawn(collection, "extra.SOK#1") == "########\n#_P_X_O#\n#__√___#\n########"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["#####", "# $.#", "#####"], "0 players"),
        (["#####", "#@$.#", "#@  #", "#####"], "2 players"),
        (["#####", "#@ .#", "#####"], "0 boxes and 1 targets"),
        (["#####", "#@$ #", "#####"], "1 boxes and 0 targets"),
        (["#####", "#@* #", "#####"], "solved already"),
        (["#####", "#@$. ", "#####"], "not enclosed"),
        (["#####", "#@$.#", "### #"], "not enclosed"),
        (["#####", "#@$.#", "#####", "$   .", "     "], "not enclosed"),
        (["#####", "#@$x#", "#####"], "no meaning"),
        (["#" * 8_001], "at most 8000"),
    ],
)
def test_what_is_no_room(rows: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        parse(rows, "bad")


def test_outside_is_wall() -> None:
    level = parse(["  ####", "###@ #", "#  $.#", "######"], "ragged")
    assert LAYOUTS["plain"].describe(level, level.start) == "######\n###P_#\n#__XO#\n######"


def test_what_is_not_there(folder: Path) -> None:
    with pytest.raises(DataError, match="expected a level file"):
        Collection(folder / "nowhere")
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match="No level files"):
        Collection(folder / "empty")
    collection = Collection(folder)
    with pytest.raises(DataError, match=r"no split 'test'.*'medium', 'train', 'valid'"):
        collection.ids("test")
    with pytest.raises(DataError, match="data is empty"):
        Collection("")
    with pytest.raises(DataError, match="expected a level file"):
        Collection("long" * 1000)
    with pytest.raises(DataError, match="no room"):
        collection.level("extra.SOK#" + "9" * 5000)
    for id in ("extra.SOK", "extra.SOK#", "extra.SOK#-1", "extra.SOK#²", "../extra.SOK#0", "README.md#0", ""):
        with pytest.raises(DataError, match="no room"):
            collection.level(id)
    with pytest.raises(DataError, match="has 2, numbered from 0"):
        collection.level("extra.SOK#2")
    (folder / "empty" / "notes.txt").write_text("nothing to see")
    with pytest.raises(DataError, match="no rooms"):
        Collection(folder / "empty").ids()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf#####\n#@$.#\n#####",
        b"#####\r\n#@$.#\r\n#####\r\n",
        b"\t#####\n\t#@$.#\n\t#####",
    ],
)
def test_what_editors_write(tmp_path: Path, data: bytes) -> None:
    """A mark of the byte order, line ends of another system, tabs."""
    (tmp_path / "room.xsb").write_bytes(data)
    assert drawn(Collection(tmp_path / "room.xsb"), "room.xsb#0").split("\n")[1].endswith("#PXO#")


def test_rooms_that_are_too_large_take_no_part_in_the_size(tmp_path: Path) -> None:
    path = tmp_path / "rooms.xsb"
    room, long = "#####\n#@$.#\n#####\n\n", 100_000
    path.write_text(room + "#" * long + "\n\n" + "#\n" * long)
    assert Collection(path).size == (3, 5)
    path = tmp_path / "crossed.xsb"
    path.write_text("#" * 5_000 + "\n\n" + "#\n" * 5_000)
    with pytest.raises(DataError, match=r"5000 high and 5000 wide.*Pass a smaller size"):
        _ = Collection(path).size


def test_a_line_spells_out_no_more_than_rooms_have(tmp_path: Path) -> None:
    path = tmp_path / "bomb.sok"
    path.write_text("999#" * 100_000)
    with pytest.raises(DataError, match="400000 cells"):
        Collection(path).level("bomb.sok#0")


@given(st.text(alphabet="#@+$*. -_|pPbBo0123456789\n;x", max_size=200))
def test_any_text_gives_rooms_or_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "any.txt"
    path.write_text(text)
    try:
        collection = Collection(path)
        levels = [collection.level(id) for id in collection.ids()]
    except DataError:
        return
    assert all(level.start.boxes != level.targets for level in levels)
