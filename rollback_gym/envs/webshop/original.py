"""The original WebShop itself, from a checkout that the user has, on a catalogue of ours.

A checkout is of princeton-nlp/WebShop, or of the copy inside verl-agent and RetroAgent: the folder that holds
`web_agent_site`. It runs in this process, on flask, beautifulsoup4 and thefuzz 0.19; its modules are taken out of
`sys.modules` again, so that several checkouts can be loaded side by side. What only its training needs is replaced by
empty modules, and so are, unless asked for, its search engine (pyserini, and with it Java) and its tagger of nouns
(spaCy): then our ranking and the catalogue's nouns stand behind the interfaces that these two have there.
"""

import contextlib
import importlib
import io
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from rollback_gym.core.errors import DataError, MissingExtra
from rollback_gym.envs.webshop.search import hits
from rollback_gym.envs.webshop.types import Catalogue, Product

_SITE = "web_agent_site"
_REPLACED = ("gym", "torch", "cleantext", "rank_bm25", "rich", "spacy", "pyserini", "pyserini.search")
_LUCENE = "pyserini.search.lucene"


class Shown(NamedTuple):
    """What a step of the original gave."""

    observation: str
    available: dict[str, Any]
    reward: float = 0.0
    done: bool = False


class Original:
    """An environment of the original.

    Args:
        checkout: The folder that holds `web_agent_site`.
        catalogue: What its shop sells.
        human: Whether goals are those that people wrote.
        seed: For its draws of prices and price limits: `random.seed(seed)` before it is made. verl-agent's copy does
            that itself, and shuffles its goals by the same seed.
        observation: `text` or `text_rich`.
        show_attributes: Whether item pages link to the attributes.
        tagger: A spaCy pipeline to find nouns with; None for the catalogue's own nouns.
        engine: A search engine with pyserini's `search(text, k=)` and `doc(docid)`; None for our ranking.

    Raises:
        DataError: if `checkout` holds no WebShop.
        MissingExtra: if a library that it needs is missing.
    """

    def __init__(
        self,
        checkout: str | Path,
        catalogue: Catalogue,
        *,
        human: bool = False,
        seed: int = 0,
        observation: str = "text",
        show_attributes: bool = False,
        tagger: Any = None,
        engine: Any = None,
    ) -> None:
        engine = engine or _OurEngine(catalogue)
        site = load_site(Path(checkout), tagger or _OurTagger(catalogue), engine)
        self.is_copy = "attr_path" in site.SimServer.__init__.__code__.co_varnames
        with tempfile.TemporaryDirectory(prefix="rollback-gym-") as folder, _random_kept():
            products, attributes, instructions = _write(catalogue, Path(folder))
            names = site.load_products.__globals__
            names["DEFAULT_ATTR_PATH"], names["HUMAN_ATTR_PATH"] = str(attributes), str(instructions)
            options: dict[str, Any] = {"attr_path": str(attributes), "seed": seed} if self.is_copy else {}
            random.seed(seed)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                self.env = site.WebAgentTextEnv(
                    observation_mode=observation,
                    file_path=str(products),
                    human_goals=human,
                    show_attrs=show_attributes,
                    **options,
                )

    @property
    def goals(self) -> list[dict[str, Any]]:
        """Its goals, in its order."""
        goals: list[dict[str, Any]] = self.env.server.goals
        return goals

    @property
    def prices(self) -> dict[str, float]:
        """What its products cost."""
        prices: dict[str, float] = self.env.server.product_prices
        return prices

    def reset(self, goal: int) -> Shown:
        """Begin the episode of that goal."""
        observation, _ = self.env.reset(session=goal)
        return Shown(observation, self.env.get_available_actions())

    def step(self, action: str) -> Shown:
        """Take an action. Raises whatever the original does where it has no answer."""
        with _random_kept():
            observation, reward, done, _ = self.env.step(action)
        return Shown(observation, self.env.get_available_actions(), reward, done)


def load_site(checkout: Path, tagger: Any, engine: Any) -> Any:
    """The module that defines the original's `WebAgentTextEnv`. Raises DataError, MissingExtra."""
    if not (checkout / _SITE / "envs" / "web_agent_text_env.py").is_file():
        raise DataError(f"There is no WebShop at {checkout}: expected a folder that holds {_SITE}.")
    stand_ins = {name: ModuleType(name) for name in (*_REPLACED, _LUCENE, f"{_SITE}.envs")}
    stand_ins["gym"].Env = object  # type: ignore[attr-defined]
    stand_ins["torch"].manual_seed = lambda _: None  # type: ignore[attr-defined]
    stand_ins["rich"].print = lambda *_: None  # type: ignore[attr-defined]
    stand_ins["rank_bm25"].BM25Okapi = None  # type: ignore[attr-defined]
    stand_ins["spacy"].load = lambda _: tagger  # type: ignore[attr-defined]
    stand_ins[_LUCENE].LuceneSearcher = lambda _: engine  # type: ignore[attr-defined]
    # Its own package of environments imports a browser.
    stand_ins[f"{_SITE}.envs"].__path__ = [str(checkout / _SITE / "envs")]
    before = {name: module for name, module in sys.modules.items() if name in stand_ins or name.startswith(_SITE)}
    for name in before:
        del sys.modules[name]
    sys.modules.update(stand_ins)
    sys.path.insert(0, str(checkout))
    try:
        return importlib.import_module(f"{_SITE}.envs.web_agent_text_env")
    except ImportError as error:
        raise MissingExtra(
            f"The original WebShop cannot be loaded: {error}. It needs: pip install flask beautifulsoup4 "
            "thefuzz==0.19.0 tqdm"
        ) from error
    finally:
        sys.path.remove(str(checkout))
        for name in [name for name in sys.modules if name in stand_ins or name.startswith(_SITE)]:
            del sys.modules[name]
        sys.modules.update(before)


def as_record(product: Product) -> dict[str, Any]:
    """The record that `parse_product` would read `product` from, as in `items_shuffle*.json`."""
    return {
        "asin": product.asin,
        "name": product.title,
        "full_description": product.description,
        "small_description": list(product.bullets),
        "category": product.category,
        "query": product.query,
        "product_category": product.product_category,
        "pricing": "".join([f"${Decimal(repr(price)):f}" for price in product.pricing]),
        "customization_options": {
            name: [{"value": value.replace(" | ", "/"), "image": None} for value in values]
            for name, values in product.options
        },
        "images": [""],
    }


def annotations_of(catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """What `items_ins_v2*.json` would hold for the catalogue."""
    found: dict[str, dict[str, Any]] = {}
    for product in catalogue.products:
        found[product.asin] = {"attributes": list(product.attributes)}
        if product.instruction is not None:
            found[product.asin]["instruction"] = product.instruction
            found[product.asin]["instruction_attributes"] = list(product.instruction_attributes)
    return found


def instructions_of(catalogue: Catalogue) -> dict[str, list[dict[str, Any]]]:
    """What `items_human_ins.json` would hold for the catalogue."""
    return {
        product.asin: [
            {
                "asin": product.asin,
                "instruction": text,
                "instruction_attributes": list(attributes),
                "instruction_options": list(options),
            }
            for text, attributes, options in product.human_instructions
        ]
        for product in catalogue.products
        if product.human_instructions
    }


def _write(catalogue: Catalogue, folder: Path) -> tuple[Path, Path, Path]:
    contents = {
        "items_shuffle_1000.json": list(map(as_record, catalogue.products)),
        "items_ins_v2_1000.json": annotations_of(catalogue),
        "items_human_ins.json": instructions_of(catalogue),
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    first, second, third = contents
    return folder / first, folder / second, folder / third


class _OurEngine:
    """Our ranking behind the interface of pyserini's searcher."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def search(self, text: str, k: int) -> list[Any]:
        products = self.catalogue.products
        return [SimpleNamespace(docid=products[number].asin) for number in list(hits(self.catalogue, text))[:k]]

    def doc(self, docid: str) -> Any:
        return SimpleNamespace(raw=lambda: json.dumps({"id": docid}))


class _OurTagger:
    """A catalogue's nouns behind spaCy's interface."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.nouns = catalogue.nouns

    def __call__(self, title: str) -> list[Any]:
        return [SimpleNamespace(text=noun, pos_="NOUN") for noun in self.nouns(title)]


@contextlib.contextmanager
def _random_kept() -> Iterator[None]:
    """The original draws from the global generators, and leaves them seeded; the caller's are put back."""
    state, numpy_state = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)
