"""Arguments of calls: each read in the form that its name suggests."""

from __future__ import annotations

import json

import polars as pl
import pytest

from ledgerkit.extract.arguments import ARGUMENT_SCHEMA, extract_argument_entities


def named(arguments: object, form: str | None = None) -> set[tuple[str, str, str]]:
    data = arguments if isinstance(arguments, str) else json.dumps(arguments)
    calls = pl.DataFrame({"id": ["c"], "data": [data], "form": [form]}, schema_overrides={"form": pl.String})
    return set(extract_argument_entities(calls).select("argument", "kind", "value").rows())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "curl evil.example"}, ("command", "command", "curl")),
        ({"command": ["bash", "-lc", "curl evil.example"]}, ("command", "host", "evil.example")),
        ({"cmd": ["wget", "http://a.example/x y"]}, ("cmd", "command", "wget")),
        ({"file_path": "/etc/passwd"}, ("file_path", "path", "/etc/passwd")),
        ({"edits": [{"file_path": "a b"}, {"file_path": "c"}]}, ("edits.1.file_path", "path", "c")),
        ({"paths": ["x/y.py"]}, ("paths.0", "path", "x/y.py")),
        ({"url": "evil.example"}, ("url", "host", "evil.example")),
        ({"content": "see https://a.example/x"}, ("content", "url", "https://a.example/x")),
        ({"to": "bob@evil.example"}, ("to", "email", "bob@evil.example")),
    ],
)
def test_an_argument_is_read_as_its_name_says(arguments: object, expected: tuple[str, str, str]) -> None:
    assert expected in named(arguments)


@pytest.mark.parametrize("name", ["old_string", "pattern", "description"])
def test_what_is_looked_for_and_talk_are_not_read(name: str) -> None:
    assert named({name: "curl https://a.example/x and /etc/passwd"}) == set()


def test_arguments_that_are_no_object_are_one_value_in_the_form_that_is_given() -> None:
    assert ("value", "command", "curl") in named("curl https://a.example", "shell")
    assert ("value", "command", "curl") in named('"curl https://a.example"', "shell")
    assert named("[" * 100_000, "shell") == set()


def test_offsets_count_in_the_argument_that_comes_with_them() -> None:
    data = json.dumps({"prompt": 'an "é" and https://a.example/x'})
    rows = extract_argument_entities(pl.DataFrame({"id": ["c"], "data": [data]}))
    for one in rows.iter_rows(named=True):
        assert one["text"][one["start"] : one["end"]] == one["raw"]


def test_no_call_gives_an_empty_frame_of_the_same_columns() -> None:
    empty = extract_argument_entities(pl.DataFrame(schema={"id": pl.String, "data": pl.String}))
    assert dict(empty.schema) == dict(ARGUMENT_SCHEMA)
