"""Records what Lucene itself answers, for the tests of analysis and search.

    python -m tests.envs.webshop.record_search

needs Java 11 or later, `pip install pyjnius`, and the wheel of Pyserini 0.17.0, which carries Lucene 8
(`pip install pyserini==0.17.0 --no-deps`).
"""

# ruff: noqa: RUF001

import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rollback_gym.envs.webshop.characters import RANGES
from rollback_gym.envs.webshop.data import open_catalogue
from rollback_gym.envs.webshop.search import searched_text
from rollback_gym.envs.webshop.types import Catalogue

GOLDEN = Path(__file__).parent / "golden"

WORDS = (
    "shoe shoes Shoe's RUNNING runs the with x-large 2.5 1,000 it's é crème 😀 👍🏽 🇩🇪 ® ™ ★ [2 pack] search_results "
    'item_page İstanbul ΣΑΣ 日本 ไทย カタ women’s <b> &amp; "x" café T_shirt u.s.a 3\'6" ... - / | relational '
    "hopping possibly generalizations 3️⃣ 👩‍🚀 ﬁne ＦＵＬＬ x1 1x a:b a.b a'b 1.b"
).split(" ")


class Lucene:
    """Lucene 8 with Anserini's analyzer, as Pyserini uses it."""

    def __init__(self) -> None:
        spec = find_spec("pyserini")
        if spec is None or not spec.submodule_search_locations:
            sys.exit("pip install pyserini==0.17.0 --no-deps")
        import jnius_config

        jnius_config.set_classpath(*glob(f"{spec.submodule_search_locations[0]}/resources/jars/*fatjar.jar"))
        from jnius import autoclass

        self._class = autoclass
        self._tool = autoclass("io.anserini.analysis.AnalyzerUtils")
        nothing = autoclass("java.util.HashMap")
        custom = autoclass("org.apache.lucene.analysis.custom.CustomAnalyzer").builder
        self._english = autoclass("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
        self._words = custom().withTokenizer("standard", nothing()).build()
        stemmed = custom().withTokenizer("whitespace", nothing())
        self._stems = stemmed.addTokenFilter("porterStem", nothing()).build()

    def words(self, text: str) -> list[str]:
        return self._analyzed(self._words, text)

    def terms(self, text: str) -> list[str]:
        return self._analyzed(self._english, text)

    def stems(self, words: list[str]) -> list[str]:
        return self._analyzed(self._stems, " ".join(words))

    def searcher(self, documents: Iterable[tuple[str, str]], folder: str) -> Any:
        os.makedirs(f"{folder}/in")
        lines = [json.dumps({"id": asin, "contents": text}) for asin, text in documents]
        Path(f"{folder}/in/documents.jsonl").write_text("\n".join(lines), encoding="utf-8")
        generator = "DefaultLuceneDocumentGenerator"
        options = f"-collection JsonCollection -input {folder}/in -index {folder}/index -generator {generator}"
        self._class("io.anserini.index.IndexCollection").main(f"{options} -threads 1 -storeRaw".split())
        return self._class("io.anserini.search.SimpleSearcher")(f"{folder}/index")

    def _analyzed(self, analyzer: Any, text: str) -> list[str]:
        # One call for all of them: no token holds a blank.
        found: str = self._tool.analyze(analyzer, text).toString()[1:-1]
        return found.split(", ") if found else []


def texts() -> Iterator[str]:
    """Strings that a tokenizer can go wrong on."""
    dice = random.Random(1)
    pools = {kind: [_character(dice, ranges.split()) for _ in range(8)] for kind, ranges in RANGES.items()}
    pools["."] = list(" -/()+\t|;")
    for _ in range(900):
        yield "".join([dice.choice(pools[dice.choice(sorted(pools))]) for _ in range(dice.randint(1, 9))])
    letters = "abcdefgzABCXYZ0123456789 .,:'\"_-/()'s"
    for _ in range(500):
        yield "".join(dice.choices(letters, k=dice.randint(1, 30)))
    for _ in range(300):
        yield "".join(dice.choices("ΣσςİIıẞßÀÉŁĄ’＇'sSabcds .", k=dice.randint(1, 15)))
    for _ in range(400):
        yield " ".join(dice.choices(WORDS, k=dice.randint(1, 5)))
    for repeated in ("a", "é", "가", "𝐀", "_", "b_", "1,", "😀\u200d", "ไ"):
        yield "x" * dice.randint(0, 3) + repeated * 300 + "ing's 1,2"


def _character(dice: random.Random, ranges: list[str]) -> str:
    first, _, last = dice.choice(ranges).partition("-")
    return chr(dice.randint(int(first, 16), int(last or first, 16)))


def words() -> list[str]:
    """Words for the stemmer: those of the catalogue, and random ones with the endings that it knows."""
    dice = random.Random(2)
    own = {word for product in open_catalogue().products for word in searched_text(product).split() if word.isalpha()}
    endings = (
        "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti "
        "iviti biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent sion "
        "tion ou ism ate iti ous ive ize s es ies sses eed ed ing y e ll"
    ).split()
    made = {"".join(dice.choices("aeiouybcdlstwxz", k=dice.randint(0, 5))) + dice.choice(endings) for _ in range(2500)}
    return sorted(own | made)


def queries(catalogue: Catalogue) -> list[str]:
    """A thousand different searches: what shoppers ask for, titles, attributes, single words, words at random."""
    dice = random.Random(3)
    vocabulary = sorted({word for product in catalogue.products for word in searched_text(product).split()})
    found: dict[str, None] = {}
    while len(found) < 1000:
        product = dice.choice(catalogue.products)
        title = product.title.split()
        asked = [instruction.text for instruction in product.human_instructions] or [product.title]
        query = dice.choice(
            [
                dice.choice(asked),
                f"{product.instruction or product.query}, and price lower than 40.00 dollars",
                product.title,
                f"{' '.join(product.attributes[:2])} {product.query}",
                " ".join(dice.choices(vocabulary, k=dice.randint(1, 6))),
                " ".join(dice.choices(title, k=dice.randint(1, 12))),
            ]
        )
        found[query.lower()] = None
    return list(found)


def hostile_documents() -> dict[str, str]:
    """Texts by asin: empty ones, equal ones, very long ones, and asins that sort unlike numbers."""
    dice = random.Random(4)
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabz-_é"
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    found = {}
    for _ in range(160):
        size = dice.choice([0, 1, 1, 2, 3, 5, 8, 20, 23, 24, 25, 26, 40, 41, 60, 150])
        asin = "".join(dice.choices(letters, k=dice.randint(1, 10)))
        found[asin] = " ".join(dice.choices(WORDS, weights, k=size)).lower()
    return found | {f"T{dice.randint(0, 999)}": "shoes running with emoji 😀" for _ in range(60)}


def hostile_queries() -> list[str]:
    dice = random.Random(5)
    return sorted({" ".join(dice.choices(WORDS, k=dice.choice([1, 1, 2, 3, 5, 9, 30]))) for _ in range(300)})


def rankings(lucene: Lucene, documents: dict[str, str], asked: list[str]) -> dict[str, list[int]]:
    """For each query the places in `documents` of the 50 best, the best first."""
    places = {asin: place for place, asin in enumerate(documents)}
    with tempfile.TemporaryDirectory() as folder:
        searcher = lucene.searcher(documents.items(), folder)
        return {query: [places[hit.docid] for hit in searcher.search(query, 50)] for query in asked}


def main() -> None:
    lucene = Lucene()
    catalogue = open_catalogue()
    GOLDEN.mkdir(exist_ok=True)
    _write("analysis.json", [[text, lucene.words(text), lucene.terms(text)] for text in texts()])
    listed = words()
    _write("stems.json", dict(zip(listed, lucene.stems(listed), strict=True)))
    own = {product.asin: searched_text(product) for product in catalogue.products}
    found = rankings(lucene, own, queries(catalogue))
    _write("search.json", {"catalogue": catalogue.digest, "rankings": found})
    hostile = hostile_documents()
    _write("search_hostile.json", {"documents": hostile, "rankings": rankings(lucene, hostile, hostile_queries())})


def _write(name: str, content: Any) -> None:
    (GOLDEN / name).write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
