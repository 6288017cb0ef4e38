"""Where games come from: whatever lies at the path, the answer is right games or one clear DataError."""

import copy
import gzip
import io
import lzma
import multiprocessing
import os
import pickle
import random
import shutil
import subprocess
import sys
import tarfile
import threading
import types
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollback_gym.core.errors import DataError, RollbackGymError
from rollback_gym.envs.alfworld import data
from rollback_gym.envs.alfworld.data import Games, GeneratedGames, open_games
from rollback_gym.envs.alfworld.files import archive, packed, stores
from rollback_gym.envs.alfworld.types import TaskType

OFFICIAL = Path(__file__).parents[4] / "shared/alfworld/json_2.1.1.tar.xz"

HEAT = "pick_heat_then_place_in_recep-Mug-None-Shelf-7"
LIGHT = "look_at_obj_in_light-Book-None-DeskLamp-301"
TWO = "pick_two_obj_and_place-Pen-None-Drawer-302"
SLICED = "pick_heat_then_place_in_recep-AppleSliced-None-Fridge-1"
MOVABLE = "pick_and_place_with_movable_recep-Plate-Mug-Shelf-2"


def content(name: str) -> bytes:
    """Bytes like a game's: a beginning that all share, then their own."""
    own = random.Random(name).randbytes(600).hex()
    return ('{"pddl_domain": "' + "domain " * 300 + f'", "pddl_problem": "{own}"}}').encode()


IDS = tuple(
    sorted(
        f"{split}/{task}/trial_{number}/game.tw-pddl"
        for split, task, number in [
            ("train", HEAT, 1),
            ("train", HEAT, 2),
            ("train", LIGHT, 1),
            ("valid_seen", LIGHT, 4),
            ("valid_seen", TWO, 5),
        ]
    )
)
LEFT_OUT = f"train/{SLICED}/trial_1/game.tw-pddl", f"train/{MOVABLE}/trial_1/game.tw-pddl"
FILES = {f"json_2.1.1/{id}": content(id) for id in (*IDS, *LEFT_OUT)} | {
    f"json_2.1.1/{Path(id).parent}/traj_data.json": b'{"task_type": "x"}' for id in IDS
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROLLBACK_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    return tmp_path / "cache" / "alfworld"


@pytest.fixture(scope="session")
def official_build(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A cache of ALFWorld's own games, and by how many KiB building it made a process grow."""
    if not OFFICIAL.exists():
        pytest.skip(f"ALFWorld's games are missing: {OFFICIAL}")
    folder = tmp_path_factory.mktemp("official")
    code = f"""
import resource
from rollback_gym.envs.alfworld.data import open_games
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
open_games({str(OFFICIAL)!r})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    environment = os.environ | {"ROLLBACK_GYM_CACHE": str(folder)}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return folder, int(shown.stdout)


@pytest.fixture
def official(official_build: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> Games:
    monkeypatch.setenv("ROLLBACK_GYM_CACHE", str(official_build[0]))
    return open_games(OFFICIAL)


def write_folder(root: Path, files: dict[str, bytes]) -> Path:
    for name, bytes_ in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes_)
    return root


def tar_bytes(files: Iterable[tuple[str, bytes]], format: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_bytes(files: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, data in files:
                archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


PACKERS: dict[str, Callable[[Iterable[tuple[str, bytes]]], bytes]] = {
    ".tar": tar_bytes,
    ".tar.xz": lambda files: lzma.compress(tar_bytes(files), preset=0),
    ".tar.gz": lambda files: gzip.compress(tar_bytes(files)),
    ".tgz": lambda files: gzip.compress(tar_bytes(files)),
    ".zip": zip_bytes,
    ".stored.zip": lambda files: zip_bytes(files, zipfile.ZIP_STORED),
}
ALL = pytest.mark.parametrize("kind", PACKERS)


def write_archive(folder: Path, kind: str, files: Iterable[tuple[str, bytes]]) -> Path:
    path = folder / f"games{kind}"
    path.write_bytes(PACKERS[kind](files))
    return path


# What people have


@pytest.mark.parametrize("below", ["", "json_2.1.1"])
def test_a_folder_in_alfworlds_layout(tmp_path: Path, below: str) -> None:
    games = open_games(write_folder(tmp_path / "data", FILES) / below)
    assert games.splits() == ("train", "valid_seen")
    assert games.ids() == IDS
    assert all(games.read(id) == content(id) for id in IDS)


@ALL
@pytest.mark.parametrize("prefix", ["", "./", "a/b/"])
def test_archives(tmp_path: Path, kind: str, prefix: str) -> None:
    path = write_archive(tmp_path, kind, ((prefix + name, data) for name, data in FILES.items()))
    before = path.read_bytes(), path.stat().st_mtime_ns
    games = open_games(path)
    assert games.splits() == ("train", "valid_seen")
    assert games.ids() == IDS
    assert all(games.read(id) == content(id) for id in IDS)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_one_split_is_enough(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "data", FILES)
    games = open_games(root / "json_2.1.1" / "valid_seen")
    assert games.splits() == ("valid_seen",)
    assert games.ids() == games.ids("valid_seen") == tuple(id for id in IDS if id.startswith("valid_seen"))


def test_a_folder_of_task_folders_belongs_to_any_split(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "mine", {f"{HEAT}/trial_1/game.tw-pddl": b"{1}"})
    games = open_games(root)
    assert games.splits() == ()
    assert games.ids() == games.ids("train") == (f"{HEAT}/trial_1/game.tw-pddl",)


def test_a_task_folder_and_a_trial_folder(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "data", FILES) / "json_2.1.1" / "valid_seen" / TWO
    for path in (root, root / "trial_5"):
        assert open_games(path).ids("valid_seen") == (f"valid_seen/{TWO}/trial_5/game.tw-pddl",)


def test_a_lone_game_keeps_its_id_and_belongs_to_any_split(tmp_path: Path) -> None:
    games = open_games(write_folder(tmp_path, FILES) / "json_2.1.1" / IDS[0])
    assert games.ids() == games.ids("valid_unseen") == (IDS[0],)
    assert games.read(IDS[0]) == content(IDS[0])


@pytest.mark.parametrize("name", ["game.tw-pddl", "my game.json", "spiel-ü.txt", "Sliced.tw-pddl", "no\nline"])
def test_a_lone_game_of_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b' {"pddl_domain": ""}')
    games = open_games(tmp_path / name)
    (id,) = games.ids(split="train")
    assert id.isprintable()
    assert games.read(id) == b' {"pddl_domain": ""}'


def test_loose_games_in_a_folder(tmp_path: Path) -> None:
    games = open_games(write_folder(tmp_path / "mine", {"b.tw-pddl": b"{2}", "a.tw-pddl": b"{1}", "notes.txt": b""}))
    assert games.ids() == ("a.tw-pddl", "b.tw-pddl")
    assert games.splits() == ()


def test_links_in_a_folder_are_the_users_own(tmp_path: Path) -> None:
    write_folder(tmp_path / "real", FILES)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "json_2.1.1").symlink_to(tmp_path / "real" / "json_2.1.1")
    assert open_games(tmp_path / "data").ids() == IDS


# Choosing


def test_order_is_that_of_the_ids_however_they_were_packed(tmp_path: Path) -> None:
    path = write_archive(tmp_path, ".tar", reversed(FILES.items()))
    assert open_games(path).ids() == IDS
    chosen = open_games(path).ids(task_types=[TaskType.PICK_TWO, "pick_heat_then_place_in_recep"])
    assert chosen == tuple(id for id in IDS if TWO in id or HEAT in id)
    assert open_games(path).ids("train", TaskType.LOOK_IN_LIGHT) == (f"train/{LIGHT}/trial_1/game.tw-pddl",)


def test_movable_and_sliced_are_listed_nowhere_but_can_be_read(tmp_path: Path) -> None:
    games = open_games(write_folder(tmp_path, FILES))
    assert not set(LEFT_OUT) & set(games.ids())
    assert [games.read(id) for id in LEFT_OUT] == [content(id) for id in LEFT_OUT]


def test_where_no_name_tells_the_goal_does(tmp_path: Path, official: Games) -> None:
    files = {f"{i}.tw-pddl": official.read(official.ids("valid_seen", [kind])[0]) for i, kind in enumerate(TaskType)}
    games = open_games(write_folder(tmp_path / "loose", files))
    for i, kind in enumerate(TaskType):
        assert games.ids(task_types=[kind]) == (f"{i}.tw-pddl",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"split": "valid_unseen"}, ["valid_unseen", "train (3 games)", "valid_seen (2 games)"]),
        ({"split": ""}, ["''", "train (3 games)"]),
        ({"task_types": ["fry"]}, ["'fry'", *TaskType]),
        ({"task_types": []}, ["empty", *TaskType]),
        ({"split": "train", "task_types": [TaskType.COOL]}, [TaskType.COOL, TaskType.HEAT, TaskType.LOOK_IN_LIGHT]),
    ],
)
def test_what_is_not_there(tmp_path: Path, arguments: dict[str, object], words: list[str]) -> None:
    games = open_games(write_folder(tmp_path, FILES))
    with pytest.raises(DataError) as error:
        games.ids(**arguments)  # type: ignore[arg-type]
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [
        (IDS[0].replace("trial_", "tril_"), IDS[0]),
        ("/somewhere/json_2.1.1/" + IDS[3], IDS[3]),
        (IDS[4].removesuffix("/game.tw-pddl"), IDS[4]),
        ("", IDS[0]),
        ("../../etc/passwd", IDS[0]),
    ],
)
def test_an_unknown_level_suggests_its_neighbours(tmp_path: Path, asked: str, suggested: str) -> None:
    games = open_games(write_folder(tmp_path, FILES))
    with pytest.raises(DataError) as error:
        games.read(asked)
    assert repr(asked) in str(error.value)
    assert suggested in str(error.value)


# The environment variable


def test_the_variable_stands_in_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_games(None) is None
    monkeypatch.setenv("ALFWORLD_DATA", "")
    assert open_games(None) is None
    monkeypatch.setenv("ALFWORLD_DATA", str(write_folder(tmp_path / "data", FILES)))
    games = open_games(None)
    assert games is not None
    assert games.ids() == IDS
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"does not exist.*ALFWORLD_DATA"):
        open_games(None)


def test_importing_alfworld_chooses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    default = write_folder(tmp_path / ".cache" / "alfworld", FILES)
    monkeypatch.setenv("ALFWORLD_DATA", str(default))
    assert open_games(None) is not None
    monkeypatch.setitem(sys.modules, "alfworld.info", types.ModuleType("alfworld.info"))
    assert open_games(None) is None
    monkeypatch.setattr(data, "_variable_at_import", str(default))
    assert open_games(None) is not None


# Sharing


@ALL
def test_one_object_until_the_file_changes(tmp_path: Path, kind: str) -> None:
    path = write_archive(tmp_path, kind, FILES.items())
    games = open_games(path)
    assert open_games(str(path)) is games
    assert copy.deepcopy(games) is games
    path.unlink()
    write_archive(tmp_path, kind, list(FILES.items())[:3])
    assert open_games(path) is not games
    assert len(open_games(path).ids()) == 3
    assert games.read(IDS[4]) == content(IDS[4])  # who holds the old file goes on reading it


def test_a_folder_that_gains_a_task_is_looked_at_again(tmp_path: Path) -> None:
    root = write_folder(tmp_path, FILES)
    games = open_games(root)
    write_folder(root, {f"json_2.1.1/valid_unseen/{TWO}/trial_9/game.tw-pddl": b"{}"})
    assert open_games(root) is not games
    assert open_games(root).splits() == ("train", "valid_seen", "valid_unseen")


@ALL
def test_pickled_by_path(tmp_path: Path, kind: str) -> None:
    games = open_games(write_archive(tmp_path, kind, FILES.items()))
    text = pickle.dumps(games)
    assert len(text) < 400
    code = f"import pickle; g = pickle.loads({text!r}); print(len(g.ids()), len(g.read(g.ids()[0])))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["5", str(len(content(IDS[0])))]


def read_all(path: Path) -> bool:
    games = open_games(path)
    return all(games.read(id) == content(id) for id in IDS * 20)


@ALL
def test_forks_and_threads_read_at_once(tmp_path: Path, kind: str) -> None:
    path = write_archive(tmp_path, kind, FILES.items())
    assert read_all(path)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers = pool.map_async(read_all, [path] * 4)
        threads = [threading.Thread(target=read_all, args=(path,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        assert read_all(path)
        for thread in threads:
            thread.join()
        assert answers.get(60) == [True] * 4


def test_a_fork_does_not_inherit_a_taken_lock(tmp_path: Path) -> None:
    path = write_archive(tmp_path, ".tar", FILES.items())
    with data._lock, multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(read_all, (path,)).get(30)


# The cache


def cached(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def forget() -> None:
    data._opened.clear()


def test_the_cache_is_built_once_and_follows_the_content(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    assert read_all(path)
    (name,) = cached(cache)
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(packed, "_build", None)
        moved = path.rename(tmp_path / "moved.tar.xz")
        assert read_all(moved)
    write_archive(tmp_path, ".tar.xz", list(FILES.items())[:2])
    open_games(path)
    assert len(cached(cache)) == 2
    assert name in cached(cache)


def test_four_processes_build_at_once(tmp_path: Path, cache: Path) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    code = f"from rollback_gym.envs.alfworld.data import open_games; g = open_games({str(path)!r}); g.read({IDS[4]!r})"
    builders = [subprocess.Popen([sys.executable, "-W", "error", "-c", code]) for _ in range(4)]
    assert [builder.wait(60) for builder in builders] == [0] * 4
    assert len(cached(cache)) == 1
    assert read_all(path)


def test_without_file_locks_several_build_and_all_is_well(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError("No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    threads = [threading.Thread(target=packed.Packed, args=(str(path),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_all(path)
    assert len(cached(cache)) == 1


def test_what_a_killed_builder_left_is_removed(tmp_path: Path, cache: Path) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    open_games(path)
    (name,) = cached(cache)
    (cache / name).rename(cache / f"{name}.1234.unfinished")
    forget()
    assert read_all(path)
    assert cached(cache) == [name]


def test_a_failed_build_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError):
        open_games(path)
    assert cached(cache) == []


@pytest.mark.parametrize("damage", ["empty", "cut", "index", "footer", "foreign"])
def test_a_damaged_cache_is_built_again_with_a_notice(tmp_path: Path, cache: Path, damage: str) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    open_games(path)
    (name,) = cached(cache)
    whole = (cache / name).read_bytes()
    place = {"index": len(whole) - 60, "footer": len(whole) - 30}.get(damage)
    if place is not None:
        damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    else:
        damaged = {"empty": b"", "cut": whole[:-1], "foreign": b"\0" * len(whole)}[damage]
    (cache / name).write_bytes(damaged)
    forget()
    with pytest.warns(UserWarning, match="is damaged .* built again"):
        assert read_all(path)
    assert (cache / name).read_bytes() == whole


def test_damage_that_shows_at_a_read_is_mended_too(tmp_path: Path, cache: Path) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    games = open_games(path)
    (name,) = cached(cache)
    with open(cache / name, "r+b") as file:
        file.seek(100)
        file.write(b"\xff\0" * 50)
    with pytest.warns(UserWarning, match="is damaged"):
        assert all(games.read(id) == content(id) for id in IDS)
    forget()
    assert read_all(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10_000), mask=st.integers(1, 255))
def test_any_flipped_byte_of_the_cache_is_found(tmp_path: Path, cache: Path, place: int, mask: int) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    forget()
    assert read_all(path)
    (name,) = cached(cache)
    whole = bytearray((cache / name).read_bytes())
    whole[place % len(whole)] ^= mask
    (cache / name).write_bytes(whole)
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_all(path)
        assert all(open_games(path).read(id) == content(id) for id in LEFT_OUT)


def test_a_deleted_cache_does_not_disturb_readers(tmp_path: Path, cache: Path) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    open_games(path)
    shutil.rmtree(cache)
    assert read_all(path)


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("ROLLBACK_GYM_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    with pytest.warns(UserWarning, match="ROLLBACK_GYM_CACHE"):
        assert read_all(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "games.tar.xz"]
    forget()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.warns(UserWarning, match="ROLLBACK_GYM_CACHE"), pytest.raises(DataError, match="No place"):
        open_games(path)


def test_a_full_disk_falls_back_too(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = packed._build

    def full(source: io.BufferedReader, out: io.BufferedWriter, where: str) -> None:
        build(source, out, where)
        if str(cache) in str(out.name):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(packed, "_build", full)
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    with pytest.warns(UserWarning, match="No space left on device"):
        assert read_all(path)
    assert cached(cache) == []


def test_progress_shows_at_a_terminal_only_and_only_if_slow(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_archive(tmp_path, ".tar.xz", FILES.items())
    open_games(path)
    assert capfd.readouterr() == ("", "")


# What is no data


@pytest.mark.parametrize(
    ("name", "bytes_", "words"),
    [
        ("empty.zip", b"", ["0 bytes"]),
        ("page.html", b"<html>404</html>", ["<html>40", ".tar.xz"]),
        ("games.tar.xz", b"<html>404</html>", ["<html>40"]),
        ("games.zip", b"PK\3\4" + bytes(50), ["no whole zip archive"]),
        ("games.7z", b"7z\xbc\xaf\x27\x1c" + bytes(50), ["no archive of games"]),
        ("note.gz", gzip.compress(b"hello", mtime=0), ["no whole tar archive"]),
        ("one.xz", lzma.compress(b'{"pddl_domain": 1}' * 100), ["no tar header"]),
        ("big.tw-pddl", b"{" + bytes(5 << 20), ["at most 4,194,304"]),
        ("empty.tar", bytes(10240), ["no archive of games"]),
        ("none.zip", zip_bytes([]), ["0 games found", "alfworld-download", "0 files"]),
        ("other.zip", zip_bytes([("readme.txt", b"hi")]), ["0 games found", "1 files"]),
        (
            "other.tgz",
            gzip.compress(tar_bytes([("readme.txt", b"hi")]), mtime=0),
            ["0 games found", "1 files", "leave out"],
        ),
        ("nested.zip", zip_bytes([("inner.zip", zip_bytes(FILES.items()))]), ["0 games found"]),
        ("left.tar", tar_bytes([(LEFT_OUT[0], b"{}")]), ["0 games found", "1 games with a movable"]),
    ],
)
def test_foreign_files(tmp_path: Path, name: str, bytes_: bytes, words: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(bytes_)
    with pytest.raises(DataError) as error:
        open_games(path)
    text = str(error.value).replace("without data=", "leave out data=")
    assert str(path) in text
    assert all(word in text for word in words), text


def test_folders_without_games(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"0 games found.*0 files were seen.*alfworld-download"):
        open_games(tmp_path)
    write_folder(tmp_path, {name: data for name, data in FILES.items() if name.endswith(".json")})
    with pytest.raises(DataError, match=r"5 are traj_data\.json.*alfworld-download"):
        open_games(tmp_path)


@pytest.mark.parametrize("given", ["", "a\0b", "x" * 300, "nowhere/at all", "/dev/null", "/dev/zero"])
def test_paths_that_are_none(given: str) -> None:
    with pytest.raises(DataError):
        open_games(given)


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "game.tw-pddl")
    for path in (tmp_path, tmp_path / "game.tw-pddl"):
        with pytest.raises(DataError):
            open_games(path)
    (tmp_path / "game.tw-pddl").unlink()
    games = open_games(write_folder(tmp_path, {"game.tw-pddl": b"{}"}))
    (tmp_path / "game.tw-pddl").unlink()
    os.mkfifo(tmp_path / "game.tw-pddl")
    with pytest.raises(DataError, match="not a regular file"):
        games.read("game.tw-pddl")


def test_endless_links_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_MEMBERS", 2000)
    for name in "abcdefgh":
        (tmp_path / name).symlink_to(tmp_path)
    with pytest.raises(DataError):
        open_games(tmp_path)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_folder(tmp_path / "data", FILES)
    games = open_games(root)

    def refuse(path: object, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(DataError, match=r"game\.tw-pddl may not be read by this user"):
            games.read(IDS[0])
    forget()
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match="may not be read by this user"):
        open_games(root)


def test_files_that_go_or_grow(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "data", FILES)
    games = open_games(root)
    (root / "json_2.1.1" / IDS[0]).unlink()
    with pytest.raises(DataError, match="does not exist"):
        games.read(IDS[0])
    (root / "json_2.1.1" / IDS[1]).write_bytes(b"{" + bytes(5 << 20))
    with pytest.raises(DataError, match="larger than a game can be"):
        games.read(IDS[1])


@pytest.mark.parametrize("kind", [".tar", ".zip"])
def test_an_archive_that_is_overwritten_while_in_use(tmp_path: Path, kind: str) -> None:
    path = write_archive(tmp_path, kind, FILES.items())
    games = open_games(path)
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(DataError, match="while in use"):
        games.read(IDS[4])


def test_two_copies_are_ambiguous(tmp_path: Path) -> None:
    write_folder(tmp_path / "old", {IDS[0]: b"{1}"})
    write_folder(tmp_path / "new", {IDS[0]: b"{2}"})
    with pytest.raises(DataError, match="holds two games"):
        open_games(tmp_path)


# Hostile archives


HOSTILE = [
    "../../" + IDS[0],
    "/etc/" + IDS[0],
    "C:\\" + IDS[0],
    "\x1b[31m/game.tw-pddl",
    "x/../y/game.tw-pddl",
    "a" * 2000 + ".tw-pddl",
]


@ALL
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_ignored(tmp_path: Path, kind: str, name: str) -> None:
    games = open_games(write_archive(tmp_path, kind, [(name, b"evil"), (IDS[0], b"good")]))
    assert games.ids() == (IDS[0],)
    assert games.read(IDS[0]) == b"good"
    with pytest.raises(DataError):
        games.read(name)
    write_archive(tmp_path, kind, [(name, b"evil")])
    with pytest.raises(DataError, match="1 were ignored"):
        open_games(tmp_path / f"games{kind}")


@ALL
def test_of_two_members_with_one_name_the_last_counts(tmp_path: Path, kind: str) -> None:
    games = open_games(write_archive(tmp_path, kind, [(IDS[0], b"first"), (IDS[1], b"x"), ("./" + IDS[0], b"last")]))
    assert games.ids() == IDS[:2]
    assert games.read(IDS[0]) == b"last"


@pytest.mark.parametrize("kind", [".tar", ".tar.xz"])
def test_links_and_devices_are_no_games(tmp_path: Path, kind: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        types_ = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)
        for number, type_ in enumerate(types_):
            info = tarfile.TarInfo(f"train/{HEAT}/trial_{number}/game.tw-pddl")
            info.type, info.linkname = type_, "/etc/passwd"
            tar.addfile(info)
        info = tarfile.TarInfo(IDS[0])
        info.size = 4
        tar.addfile(info, io.BytesIO(b"good"))
    path = tmp_path / f"games{kind}"
    path.write_bytes(lzma.compress(out.getvalue()) if kind.endswith("xz") else out.getvalue())
    games = open_games(path)
    assert games.ids() == (IDS[0],)
    assert games.read(IDS[0]) == b"good"


def test_a_link_in_a_zip_is_no_game(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as zip_:
        link = zipfile.ZipInfo(IDS[0])
        link.external_attr = 0o120777 << 16
        zip_.writestr(link, "/etc/passwd")
        zip_.writestr(IDS[1], "good")
    assert open_games(tmp_path / "games.zip").ids() == (IDS[1],)


@ALL
def test_a_game_that_is_too_large(tmp_path: Path, kind: str) -> None:
    with pytest.raises(DataError, match=r"has 5,242,880 bytes; a game has at most"):
        open_games(write_archive(tmp_path, kind, [(IDS[0], bytes(5 << 20)), (IDS[1], b"x")]))


@pytest.mark.parametrize("size", [5 << 30, 1 << 60])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_member_that_claims_too_much(tmp_path: Path, size: int, pack: Callable[[bytes], bytes]) -> None:
    info = tarfile.TarInfo("readme.txt")
    info.size = size
    path = tmp_path / "games"
    path.write_bytes(pack(info.tobuf(tarfile.GNU_FORMAT)))
    with pytest.raises(DataError, match=f"claims {size:,} bytes"):
        open_games(path)


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (archive, stores):
        monkeypatch.setattr(module, "MAX_MEMBERS", 5)
    for kind in PACKERS:
        with pytest.raises(DataError, match="5"):
            open_games(write_archive(tmp_path, kind, FILES.items()))
        open_games(write_archive(tmp_path, kind, list(FILES.items())[:5]))
    with pytest.raises(DataError, match="more than 5 entries"):
        open_games(write_folder(tmp_path / "data", FILES))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 10 << 20)
    path = tmp_path / "games"
    whole = tar_bytes(FILES.items())
    path.write_bytes(pack(whole + bytes(30 << 20)))
    with pytest.raises(DataError, match="unpacks to more than"):
        open_games(path)


def test_an_xz_that_wants_all_the_memory(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}]
    whole = bytearray(lzma.compress(tar_bytes(FILES.items()), filters=filters))
    header = whole[12:24]
    header[4] = 39  # a dictionary of 3 GiB
    header[8:12] = zlib.crc32(header[:8]).to_bytes(4, "little")
    whole[12:24] = header
    path = tmp_path / "games.tar.xz"
    path.write_bytes(whole)
    with pytest.raises(DataError, match="damaged or cut short"):
        open_games(path)


@pytest.mark.parametrize("kind", [b"L", b"x"])
def test_names_of_any_size_are_not_taken_into_memory(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("long")
    info.type, info.size = kind, 1 << 20
    path = tmp_path / "games.tar"
    path.write_bytes(info.tobuf() + b"a" * (1 << 20) + bytes(1024))
    with pytest.raises(DataError, match="a name of 1,048,576 bytes"):
        open_games(path)


def test_a_chain_of_long_names_does_not_overflow(tmp_path: Path) -> None:
    info = tarfile.TarInfo("long")
    info.type, info.size = b"L", 5
    link = info.tobuf() + b"a.txt".ljust(512, b"\0")
    path = tmp_path / "games.tar"
    path.write_bytes(link * 20_000 + tar_bytes(FILES.items()))
    assert open_games(path).ids() == IDS[1:]  # the first has the chain's name


@pytest.mark.parametrize(
    "body", [b"30 path=x\n", b"x path=a\n", b"9 path:ab\n", b"99999999999 path=a\n", b"0 path=a\n"]
)
def test_pax_headers_out_of_format(tmp_path: Path, body: bytes) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = b"x", len(body)
    path = tmp_path / "games.tar"
    path.write_bytes(info.tobuf() + body.ljust(512, b"\0") + tar_bytes(FILES.items()))
    with pytest.raises(DataError, match="pax header"):
        open_games(path)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_dialect_of_tar(tmp_path: Path, format: int) -> None:
    long = f"{'d' * 60}/{'e' * 60}/{IDS[0]}" if format == tarfile.USTAR_FORMAT else f"{'d' * 300}/{IDS[0]}"
    wide = "ümläut/" + IDS[1]
    path = tmp_path / "games.tar"
    path.write_bytes(tar_bytes([(long, b"long"), (wide, b"wide"), (IDS[2], b"")], format))
    games = open_games(path)
    assert [games.read(id) for id in games.ids()] == [b"long", b"wide", b""]
    assert games.ids() == IDS[:3]


def test_tar_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "games.tar"
    path.write_bytes(tar_bytes([("\udcff/game.tw-pddl", b"x"), (IDS[0], b"good")]))
    assert open_games(path).ids() == (IDS[0],)


def test_folder_names_that_are_not_utf8(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "data", {IDS[0]: b"{}"})
    os.mkdir(os.fsencode(root) + b"/\xff")
    with open(os.fsencode(root) + b"/\xff/game.tw-pddl", "wb"):
        pass
    with open(os.fsencode(root) + b"/\xff.tw-pddl", "wb"):
        pass
    assert open_games(root).ids() == (IDS[0],)


def test_zip_methods_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "games.zip"
    path.write_bytes(zip_bytes(FILES.items(), zipfile.ZIP_LZMA))
    with pytest.raises(DataError, match="method 14"):
        open_games(path)


def test_a_zip_member_whose_name_ends_before_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "games.zip"
    path.write_bytes(zip_bytes([("ZZ.tw-pddl", b"x"), (IDS[0], b"good")]).replace(b"ZZ.tw", b"\0Z.tw"))
    assert open_games(path).ids() == (IDS[0],)


def test_an_encrypted_zip(tmp_path: Path) -> None:
    path = tmp_path / "games.zip"
    whole = bytearray(zip_bytes([(IDS[0], b"x")]))
    whole[whole.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(whole)
    with pytest.raises(DataError, match="encrypted"):
        open_games(path)


def test_several_xz_streams_in_one_file(tmp_path: Path) -> None:
    whole = tar_bytes(FILES.items())
    for pack in (gzip.compress, lzma.compress):
        (tmp_path / "games").write_bytes(pack(whole[:5000]) + pack(whole[5000:]) + bytes(4))
        assert read_all(tmp_path / "games")


# Truncation and damage


WHOLE = {kind: pack(FILES.items()) for kind, pack in PACKERS.items()}
RIGHT = {content(id) for id in (*IDS, *LEFT_OUT)}


def never_wrong(path: Path, kind: str) -> int:
    """Opens and reads everything; how many games were right."""
    forget()
    right = 0
    try:
        games = open_games(path)
        for id in games.ids():
            try:
                data = games.read(id)
            except RollbackGymError:
                continue
            # A plain tar has no checksum over contents: only their size can be vouched for.
            assert data in RIGHT or kind == ".tar"
            right += 1
        for split in games.splits():
            games.ids(split)
    except RollbackGymError:
        pass
    return right


@ALL
def test_truncated_anywhere(tmp_path: Path, kind: str) -> None:
    whole = WHOLE[kind]
    path = tmp_path / "games"
    for size in sorted({*range(0, len(whole), max(1, len(whole) // 60)), *range(0, 600, 37), len(whole) - 1}):
        path.write_bytes(whole[:size])
        forget()
        if kind == ".tar" and size > len(whole.rstrip(b"\0")) + 1024:  # only the padding is cut
            assert read_all(path)
            continue
        with pytest.raises(DataError) as error:
            open_games(path)
        assert str(path) in str(error.value)


@ALL
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_cut_and_doubled_bytes(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    whole = bytearray(WHOLE[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        what = data.draw(st.sampled_from(["flip", "flip", "cut", "double", "end"]))
        length = data.draw(st.integers(1, 50))
        if what == "flip":
            whole[place] ^= data.draw(st.integers(1, 255))
        elif what == "cut":
            del whole[place : place + length]
        elif what == "double":
            whole[place:place] = whole[place : place + length]
        else:
            whole[-1 - place % min(400, len(whole))] ^= 255  # where a zip's directory and the checksums are
        if not whole:
            break
    path = tmp_path / "games"
    path.write_bytes(whole)
    never_wrong(path, kind)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.sampled_from([b"", b"PK\3\4", b"PK\5\6", b"\xfd7zXZ\0", b"\x1f\x8b\x08", b"{"]), rest=st.binary())
def test_any_bytes(tmp_path: Path, start: bytes, rest: bytes) -> None:
    path = tmp_path / "games"
    path.write_bytes(start + rest)
    if not (start + rest).lstrip().startswith(b"{"):
        assert never_wrong(path, "") == 0


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks=st.lists(st.tuples(st.sampled_from(b"01234567LKxgSX\0"), st.binary(max_size=60), st.integers(0, 1500))))
def test_any_tar_headers(tmp_path: Path, blocks: list[tuple[int, bytes, int]]) -> None:
    whole = b""
    for kind, name, size in blocks:
        header = bytearray(512)
        header[: len(name)] = name
        header[124:136] = f"{size:011o}\0".encode()
        header[148:157] = b" " * 8 + bytes([kind])
        header[148:156] = f"{sum(header):06o}\0 ".encode()
        whole += bytes(header) + name.ljust(1536, b"\0")[: -(-size // 512) * 512]
    path = tmp_path / "games.tar"
    path.write_bytes(whole + bytes(1024))
    never_wrong(path, ".tar")


# Worlds made here


def test_generated_worlds_need_no_data() -> None:
    games: Games = GeneratedGames(0.5)
    assert games.splits() == ("train", "valid_seen", "valid_unseen")
    ids = games.ids("valid_unseen", [TaskType.HEAT, TaskType.COOL])
    assert 20 < len(ids) < 100
    assert set(ids) < set(games.ids("valid_unseen")) < set(games.ids())
    assert sum(len(games.ids(task_types=[kind])) for kind in TaskType) == len(games.ids())
    assert games == pickle.loads(pickle.dumps(games))
    assert "0.5" in games.source


def test_a_generated_world_is_a_game_file_like_any_other(tmp_path: Path) -> None:
    made = GeneratedGames()
    id = made.ids("valid_seen")[7]
    games = open_games(write_folder(tmp_path, {id: made.read(id)}))
    assert games.ids("valid_seen") == (id,)
    assert games.game(id)._replace(where="") == made.game(id)._replace(where="")


@pytest.mark.parametrize("arguments", [{"split": "test"}, {"task_types": ["fry"]}, {"task_types": []}])
def test_generated_worlds_that_are_not_there(arguments: dict[str, object]) -> None:
    with pytest.raises(DataError):
        GeneratedGames().ids(**arguments)  # type: ignore[arg-type]
    for make in (lambda: GeneratedGames(9.0), lambda: GeneratedGames().game("nothing")):
        with pytest.raises(DataError):
            make()


def test_a_foreign_game_says_which_and_where(tmp_path: Path) -> None:
    path = write_archive(tmp_path, ".zip", FILES.items())
    with pytest.raises(DataError) as error:
        open_games(path).game(IDS[0])
    assert IDS[0] in str(error.value)
    assert str(path) in str(error.value)


# ALFWorld's own data


def test_the_official_games(official: Games) -> None:
    assert official.splits() == ("train", "valid_seen")
    assert [len(official.ids(split)) for split in official.splits()] == [3553, 140]
    assert sum(len(official.ids(task_types=[kind])) for kind in TaskType) == 3693
    wanted = set(official.ids()[::40])
    with tarfile.open(OFFICIAL) as tar:
        for member in tar:
            id = member.name.removeprefix("json_2.1.1/")
            if id in wanted:
                file = tar.extractfile(member)
                assert file is not None
                assert official.read(id) == file.read()
                wanted.remove(id)
    assert not wanted


def test_building_stays_small_in_memory_and_on_disk(official_build: tuple[Path, int]) -> None:
    folder, growth = official_build
    assert growth < 230 * 1024  # 193 MiB of it is the window that this archive makes any decoder keep
    assert sum(path.stat().st_size for path in folder.glob("alfworld/*")) < 25 << 20
