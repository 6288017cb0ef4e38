"""Records episodes of the original WebShop, to be played again here.

`python -m tests.fidelity.webshop original PATH` plays princeton-nlp/WebShop from a checkout at PATH, and
`... verl-agent PATH` the copy inside verl-agent or RetroAgent (its folder that holds `web_agent_site`), and writes what
they said to `tests/envs/webshop/golden/`: a line for each episode, compressed. `tests/envs/webshop/test_golden.py`
plays the same here. `... shop` keeps a part of the generated catalogue there, to be played.

See `rollback_gym.envs.webshop.original` for what must be installed, and `tests.envs.webshop.record_search` for Lucene,
which answers the searches; nouns are those of our catalogues.
"""

import json
import lzma
import random
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from rollback_gym.envs.webshop.data import open_catalogue
from rollback_gym.envs.webshop.fidelity import Episode, differing_goal, goals_for, play, replay
from rollback_gym.envs.webshop.goals import ORDER_SEED, Kind, open_goals
from rollback_gym.envs.webshop.original import Original, Shown
from rollback_gym.envs.webshop.rules import Compat, Mode, WebShopRules
from rollback_gym.envs.webshop.search import searched_text
from rollback_gym.envs.webshop.types import Catalogue
from rollback_gym.fidelity import Difference
from tests.envs.webshop import shops
from tests.envs.webshop.record_search import Lucene

STEPS = 15


_KINDS: tuple[Kind, ...] = ("synthetic", "human")
_MODES: tuple[Mode, ...] = ("text", "text_rich")


class Setting(NamedTuple):
    """Which shop is played, and how."""

    shop: str
    """`hostile 3`, or `generated` for the part of a generated catalogue that is kept beside the episodes."""
    goals: Kind
    seed: int
    observation: Mode
    show_attributes: bool
    episodes: int


SETTINGS = (
    *[Setting("generated", "synthetic", seed, "text", False, 50) for seed in range(2)],
    Setting("generated", "human", 2, "text", True, 25),
    Setting("generated", "synthetic", 3, "text_rich", False, 25),
    *[
        Setting(f"hostile {seed}", _KINDS[seed % 2], seed, mode, seed % 3 == 0, 12)
        for seed in range(8)
        for mode in _MODES
    ],
)


def catalogue(shop: str) -> Catalogue:
    """The catalogue of that name."""
    name, _, number = shop.partition(" ")
    return shops.hostile(int(number)) if name == "hostile" else shops.kept()


class Engine:
    """Lucene, with the interface of Pyserini's searcher."""

    def __init__(self, lucene: Lucene, sold: Catalogue, folder: str) -> None:
        self._searcher = lucene.searcher(((one.asin, searched_text(one)) for one in sold.products), folder)

    def search(self, text: str, k: int) -> Any:
        """The hits, the best first; each has a `docid`."""
        return self._searcher.search(text, k)

    def doc(self, docid: str) -> Any:
        """A document, of which the original reads the id."""
        return SimpleNamespace(raw=lambda: json.dumps({"id": docid}))


def record(checkout: str, setting: Setting, lucene: Lucene, folder: str) -> Iterator[Episode]:
    """Episodes of the original; `folder` is for the search index."""
    sold = catalogue(setting.shop)
    original = Original(
        checkout,
        sold,
        human=setting.goals == "human",
        seed=setting.seed,
        observation=setting.observation,
        show_attributes=setting.show_attributes,
        engine=Engine(lucene, sold, folder),
    )
    goals = goals_for(original, sold, setting.goals, setting.seed)
    if found := differing_goal(goals, original):
        raise SystemExit(f"{setting}: {found}")
    rng = random.Random(f"{setting}")
    for number in rng.sample(range(len(goals)), min(setting.episodes, len(goals))):
        yield play(original, goals, number, STEPS, rng)


def play_here(setting: Setting, compat: Compat, episode: Episode) -> Difference | None:
    """The first thing in which the recorded episode differs here."""
    rules = WebShopRules(setting.observation, setting.show_attributes, compat)
    order = setting.seed if compat == "verl-agent" else ORDER_SEED
    goals = open_goals(catalogue(setting.shop), setting.goals, setting.seed, order)
    return replay(episode, rules, goals.level(episode.goal))


def path(compat: Compat) -> Path:
    """Where the episodes of a variant are."""
    return shops.GOLDEN / f"{compat}.jsonl.xz"


def write(compat: Compat, episodes: Iterable[tuple[Setting, Episode]]) -> None:
    """Write episodes, a line each."""
    shops.GOLDEN.mkdir(exist_ok=True)
    lines = [json.dumps([setting, episode]) + "\n" for setting, episode in episodes]
    path(compat).write_bytes(lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def read(compat: Compat) -> Iterator[tuple[Setting, Episode]]:
    """The recorded episodes of a variant."""
    for line in lzma.decompress(path(compat).read_bytes()).decode().splitlines():
        setting, (goal, start, steps) = json.loads(line)
        taken = tuple((action, None if shown is None else Shown(*shown)) for action, shown in steps)
        yield Setting(*setting), Episode(goal, Shown(*start), taken)


def main() -> None:
    """Record, and say at once what differs here."""
    if sys.argv[1:] == ["shop"]:
        shops.keep(open_catalogue())
        return
    named, checkout = sys.argv[1:]
    compat: Compat = "original" if named == "original" else "verl-agent"
    warnings.simplefilter("ignore")
    episodes, lucene = [], Lucene()
    for setting in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            for episode in record(checkout, setting, lucene, f"{folder}/index"):
                episodes.append((setting, episode))
                if found := play_here(setting, compat, episode):
                    print(setting, found)
        print(f"{setting.shop}, {setting.goals}, {setting.observation}: {len(episodes)} episodes so far", flush=True)
    write(compat, episodes)


if __name__ == "__main__":
    main()
