"""What the site is made of agrees with the package: navigation, contracts, reference, figure, versions."""

import importlib.util
import inspect
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import gymnasium as gym
import pytest

import rollback_gym
from rollback_gym import oracles, testing, wrappers

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ENVIRONMENTS = {
    "Rollback-ALFWorld-v0": "rollback_gym/envs/alfworld/env.py ALFWorldEnv",
    "Rollback-MineSweeper-v0": "rollback_gym/envs/minesweeper/env.py MineSweeperEnv",
    "Rollback-Sokoban-v0": "rollback_gym/envs/sokoban/env.py SokobanEnv",
    "Rollback-WebShop-v0": "rollback_gym/envs/webshop/env.py WebShopEnv",
    "sokoban_two": "rollback_gym/envs/sokoban_two/parallel.py TwoPlayerSokoban",
}


def making(name: str) -> ModuleType:
    """A module of `docs/making`, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_making_{name}", DOCS / "making" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation_and_there() -> None:
    listed = re.findall(r"(?:- |: )(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    of_the_root = {"CHANGELOG.md", "CONTRIBUTING.md"}
    assert sorted(listed) == sorted(pages | of_the_root)
    assert all((ROOT / name).exists() for name in of_the_root)


def test_every_environment_has_a_page() -> None:
    assert {id for id in ENVIRONMENTS if id.startswith("Rollback-")} == {
        id for id in gym.registry if id.startswith("Rollback-")
    }
    shown = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "environments").glob("*.md"))
    for told in ENVIRONMENTS.values():
        assert f"<!-- contract: {told} -->" in shown


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_an_environment_says_everything_of_itself(id: str) -> None:
    contracts = making("contracts")
    source, name = ENVIRONMENTS[id].split()
    told = contracts.contract(ROOT / source, name)
    found = [next((h for h in contracts.HEADINGS if title.startswith(h)), None) for title in told.sections]
    assert [heading for heading in found if heading] == list(contracts.HEADINGS)
    assert all(told.sections.values())
    assert told.arguments.keys() == told.defaults.keys() != set()
    assert all(told.arguments.values())


def test_a_contract_is_read_as_it_stands(tmp_path: Path) -> None:
    source = tmp_path / "env.py"
    source.write_text(
        inspect.cleandoc('''
            class Env:
                """One
                sentence.

                Rewards: 1.0 for `a | b`,
                    else 0.0.

                Args:
                    size: Cells
                        each way.
                """

                def __init__(self, *, size: int = 6) -> None: ...
        ''')
    )
    contracts = making("contracts")
    told = contracts.contract(source, "Env")
    assert told == contracts.Contract(
        "One sentence.", {"Rewards": "1.0 for `a | b`, else 0.0."}, {"size": "Cells each way."}, {"size": "6"}
    )
    assert contracts.markdown(told).splitlines()[-1] == "| `size` | `6` | Cells each way. |"
    with pytest.raises(ValueError, match="no class Other"):
        contracts.contract(source, "Other")


@pytest.mark.parametrize("package", [rollback_gym, wrappers, oracles, testing], ids=lambda package: package.__name__)
def test_the_reference_has_every_public_name(package: ModuleType) -> None:
    page = (DOCS / "reference" / f"{package.__name__.rpartition('.')[2]}.md").read_text(encoding="utf-8")
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    assert set(package.__all__) <= shown


def test_the_figure_is_the_episode_that_it_shows() -> None:
    from rollback_gym.cli.demo import perform

    figures = making("figures")
    assert figures.FILE.read_text(encoding="utf-8") == figures.history(perform(0)), "python docs/making/figures.py"


def test_versions_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert rollback_gym.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+?),", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
