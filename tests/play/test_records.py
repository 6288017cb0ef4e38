"""Records: what is written is read again, and what is no record is told by line and field."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollback_gym.core.errors import RecordCutOff, RecordError
from rollback_gym.play import records
from rollback_gym.play.records import Act, Call, Episode, Made, append, line, parse, read, write
from rollback_gym.play.shapes import lifted, plain

# A pair of surrogates is one character, in JSON as in UTF-16; a lone one stays what it is.
texts = st.text(st.characters(exclude_categories=()), max_size=8).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)
wholes = st.integers(-(2**70), 2**70)
finite = st.floats(allow_nan=False, allow_infinity=False)
lengths = st.one_of(st.none(), st.just(math.inf), st.integers(0, 99).map(float))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), wholes, finite, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=5,
)
dicts = st.dictionaries(texts, values, max_size=3)
messages = st.lists(st.fixed_dictionaries({"role": texts, "content": texts}), max_size=4).map(tuple)
calls = st.builds(Call, messages, texts, finite, st.none() | texts, dicts)
indices = st.lists(wholes, max_size=3).map(tuple)


def _act(index: int) -> st.SearchStrategy[Act]:
    return st.builds(
        Act,
        index=st.just(index),
        kind=st.sampled_from(["game", "rollback"]),
        parent=wholes,
        action=values,
        observation=values,
        reward=st.floats(allow_nan=False),
        invalid=st.none() | texts,
        failed=st.booleans(),
        target=st.none() | wholes,
        reason=texts,
        abandoned=indices,
        previous=lengths,
        distance=lengths,
        grade=st.sampled_from([None, "optimal", "waste", "detour", "setback", "fatal"]),
        pivotal=st.booleans(),
        injected=st.none() | texts,
        call=st.none() | calls,
        seconds=finite,
    )


episodes = st.builds(
    Episode,
    id=texts,
    made=st.builds(Made, texts, dicts),
    level=texts,
    seed=wholes,
    task=texts,
    kind=texts,
    policy=dicts,
    observation=values,
    distance=lengths,
    acts=st.integers(0, 3).flatmap(lambda n: st.tuples(*(_act(i + 1) for i in range(n)))),
    outcome=st.sampled_from(["won", "lost", "failed", "truncated", "running"]),
    total=st.floats(allow_nan=False),
    max_turns=wholes,
    pivots=indices,
    wasted=wholes,
    options=dicts,
)


@given(episodes)
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read(episode):
    written = line(episode)
    assert written.isascii()
    assert "\n" not in written
    assert parse(written) == episode
    assert line(parse(written)) == written


def _episode(acts=1, call=None) -> Episode:
    act = Act(1, "game", 0, "look", "a room", 0.0, None, False, None, "", (), 3.0, 3.0, "waste", False, None, call, 0.1)
    return Episode(
        "0-0", Made("Rollback-Toy-v0", {}), "toy", 0, "win", "toy", {"name": "x"}, "a hall", 3.0,
        tuple(act._replace(index=i + 1) for i in range(acts)), "truncated", 0.0, 5, (), 0,
    )  # fmt: skip


def test_a_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "run.jsonl"
    first, second = _episode(), _episode(acts=2)._replace(id="1-0")
    append(path, first)
    append(path, second)
    assert list(read(path)) == [first, second]
    write(path, [second])
    assert list(read(path)) == [second]
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_failed_write_leaves_the_file(tmp_path):
    path = tmp_path / "run.jsonl"
    write(path, [_episode()])
    with pytest.raises(TypeError, match="object"):
        write(path, [_episode()._replace(observation=object())])
    assert list(read(path)) == [_episode()]
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]


def test_messages_are_written_once():
    said = tuple({"role": "user", "content": f"a long message {i} " * 100} for i in range(40))
    acts = [_episode(call=Call(said[: i + 1], "ok", 0.0)).acts[0]._replace(index=i + 1) for i in range(len(said))]
    episode = _episode()._replace(acts=tuple(acts))
    written = line(episode)
    assert len(written) < 2 * sum(len(message["content"]) for message in said)
    assert parse(written) == episode
    assert [act["call"]["kept"] for act in json.loads(written)["acts"]] == list(range(40))


def test_infinity_is_a_text_and_nothing_is_null():
    act = _episode().acts[0]._replace(distance=math.inf, previous=None)
    data = json.loads(line(_episode()._replace(acts=(act,))))
    assert data["acts"][0]["distance"] == "inf"
    assert data["acts"][0]["previous"] is None


@pytest.mark.parametrize(
    "array",
    [np.arange(6, dtype=np.uint8).reshape(2, 3), np.zeros((2, 0, 3), np.float32), np.array([1.5, np.inf, -np.inf])],
)
def test_arrays(array):
    episode = _episode()._replace(observation=plain(array))
    read_back = parse(line(episode))
    assert read_back == episode
    again = lifted(read_back.observation)
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


def test_plain_values_of_numpy_and_one_of():
    assert plain((np.int64(1), [np.float32(0.5), np.bool_(True)])) == (1, (0.5, True))
    assert type(plain(np.int64(1))) is int
    with pytest.raises(TypeError, match="bytes"):
        plain({"a": b"x"})
    with pytest.raises(TypeError, match="dict"):
        plain({1: 2})


DAMAGES = {
    "not json": (lambda data: "{", "no JSON"),
    "another file": (lambda data: '{"a": 1}', "schema"),
    "a list": (lambda data: "[]", "schema"),
    "another schema": (lambda data: {**data, "schema": "rollback-gym/episode/9"}, "schema: this release reads"),
    "missing": (lambda data: {k: v for k, v in data.items() if k != "seed"}, "seed: is missing"),
    "unknown": (lambda data: {**data, "colour": 1}, "colour: there is no such field in Episode"),
    "type": (lambda data: {**data, "seed": "0"}, "seed: expected a whole number, got '0'"),
    "bool is no number": (lambda data: {**data, "seed": True}, "seed: expected a whole number"),
    "outcome": (lambda data: {**data, "outcome": "great"}, "outcome: expected one of .*, got 'great'"),
    "deep": (
        lambda data: {**data, "acts": [{**data["acts"][0], "reward": "much"}]},
        r"acts\[0\]\.reward: expected a number",
    ),
    "kind": (lambda data: {**data, "acts": [{**data["acts"][0], "kind": "jump"}]}, r"acts\[0\]\.kind: expected one of"),
    "order": (lambda data: {**data, "acts": [data["acts"][0]] * 2}, r"acts\[1\]\.index: action indices rise"),
    "not a number": (lambda data: json.dumps(data).replace('"seed": 0', '"seed": NaN'), "NaN is no JSON"),
    "kept": (
        lambda data: {
            **data,
            "acts": [{**data["acts"][0], "call": {"messages": [], "text": "", "seconds": 0.0, "kept": 1}}],
        },
        r"acts\[0\]\.call\.kept: expected 0 to 0",
    ),
    "huge number": (lambda data: {**data, "total": 10**400}, "total: the number is too large"),
    "nested": (lambda data: "[" * 100_000, "no JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told_by_line_and_field(damage, tmp_path):
    make, told = DAMAGES[damage]
    made = make(json.loads(line(_episode())))
    path = tmp_path / "run.jsonl"
    path.write_text(line(_episode()) + "\n" + (made if isinstance(made, str) else json.dumps(made)) + "\n")
    reading = read(path)
    assert next(reading) == _episode()
    with pytest.raises(RecordError, match=rf"run\.jsonl, line 2: .*{told}"):
        next(reading)


def test_half_a_line_is_told_apart(tmp_path):
    path = tmp_path / "run.jsonl"
    whole = line(_episode()) + "\n"
    for length in (1, 5, 60, len(whole) - 2):
        path.write_text(whole + whole[:length])
        reading = read(path)
        assert next(reading) == _episode()
        with pytest.raises(RecordCutOff, match="line 2"):
            next(reading)
    path.write_text(whole + whole[:-1])  # only the break is missing
    assert list(read(path)) == [_episode()] * 2


@pytest.mark.parametrize("foreign", ['{"cells": []}', "# A README", '{"schema":"another', "\udcff"])
def test_a_foreign_file_is_not_half_a_run(foreign, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(foreign.encode(errors="surrogateescape"))
    with pytest.raises(RecordError) as told:
        list(read(path))
    assert not isinstance(told.value, RecordCutOff)


def _conforms(value, schema, definitions):
    """The part of JSON Schema that ours uses."""
    if "$ref" in schema:
        return _conforms(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema and not any(_conforms(value, one, definitions) for one in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    kinds["null"] = type(None)
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return False
    if isinstance(value, list) and "items" in schema:
        return all(_conforms(item, schema["items"], definitions) for item in value)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return (
            value.keys() <= known.keys()
            and set(schema["required"]) <= value.keys()
            and all(_conforms(item, known[name], definitions) for name, item in value.items())
        )
    return True


@given(episodes)
@settings(max_examples=50, deadline=None)
def test_lines_conform_to_the_schema(episode):
    schema = records.schema()
    data = json.loads(line(episode))
    assert _conforms(data, schema, schema["$defs"])
    data["acts"].append({"index": 1})
    assert not _conforms(data, schema, schema["$defs"])


def test_every_field_of_the_schema_is_described_or_plain():
    described = [field for shape in records.schema()["$defs"].values() for field in shape["properties"].values()]
    assert sum("description" in field for field in described) > len(described) / 2


def test_a_line_without_end_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LONGEST", 100)
    (tmp_path / "run.jsonl").write_bytes(b"x" * 101)
    with pytest.raises(RecordError, match="no record is longer than 100 bytes"):
        list(read(tmp_path / "run.jsonl"))


@pytest.mark.parametrize("length", ["nan", -1, "-inf"])
def test_a_length_that_is_none(length):
    data = json.loads(line(_episode()))
    data["distance"] = length
    with pytest.raises(RecordError, match="distance: L is a number of turns"):
        parse(json.dumps(data))
