"""Settings: who goes before whom, what a file may say, and what a file that was merely found may not."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.cli import main
from ledgerkit.cli.failing import LedgerkitFailure
from ledgerkit.cli.settings import FILE_NAME, SETTINGS, Setting, find_file, read_settings
from tests.cli.conftest import Call, rows
from tests.conftest import ROOT

_EXAMPLES = {str: "text", int: 3, bool: True}


def _example(setting: Setting) -> object:
    return setting.among[0] if setting.among else _EXAMPLES[setting.kind]


def _written(setting: Setting, value: object) -> str:
    table, _, name = setting.key.rpartition(".")
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return f"[{table}]\n{name} = {shown}\n" if table else f"{name} = {shown}\n"


@pytest.mark.long
def test_the_command_line_goes_before_the_environment_before_the_file_before_the_default(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(rows(call("runs", "--json"))) == 2
    (tmp_path / FILE_NAME).write_text("limit = 1\n", "utf-8")
    assert len(rows(call("runs", "--json"))) == 1
    monkeypatch.setenv("LEDGERKIT_LIMIT", "2")
    assert len(rows(call("runs", "--json"))) == 2
    assert len(rows(call("runs", "--json", "-n", "1"))) == 1


def test_a_file_above_the_working_directory_names_the_ledger_beside_it(
    small: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEDGERKIT_LEDGER")
    (small.parent / FILE_NAME).write_text(f'ledger = "{small.name}"\n', "utf-8")
    try:
        monkeypatch.chdir(small.parent / "logs")
        assert len(rows(call("runs", "--json"))) == 2
    finally:
        (small.parent / FILE_NAME).unlink()
    monkeypatch.chdir(tmp_path)
    call("runs", code=2)


def test_the_nearest_file_counts_alone(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / FILE_NAME).write_text("limit = 1\nquiet = true\n", "utf-8")
    (tmp_path / "a" / FILE_NAME).write_text("limit = 2\n", "utf-8")
    assert find_file(inner) == tmp_path / "a" / FILE_NAME
    assert dict(read_settings(folder=inner, environment={}).values) == {"limit": 2}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_every_setting_is_taken_from_a_given_file_and_from_its_variable(setting: Setting, tmp_path: Path) -> None:
    value = _example(setting)
    file = tmp_path / "mine.toml"
    file.write_text(_written(setting, value), "utf-8")
    from_file = read_settings(file, environment={}).values[setting.key]
    assert from_file == (str(tmp_path / str(value)) if setting.is_path else value)
    from_variable = read_settings(folder=tmp_path, environment={setting.variable: str(value).lower()})
    assert from_variable.values[setting.key] == value


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_every_setting_is_the_default_of_an_option_that_is_there(setting: Setting) -> None:
    for name in setting.targets:
        command = main.get_command(main.make_context("ledgerkit", [], resilient_parsing=True), name)
        assert command is not None
        assert setting.parameter in {parameter.name for parameter in command.params}, name
    assert setting.targets or setting.key == "quiet"


@pytest.mark.parametrize(
    "setting", [one for one in SETTINGS.values() if not one.in_found_file], ids=lambda one: one.key
)
def test_a_found_file_may_not_set_it(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(_written(setting, _example(setting)), "utf-8")
    with pytest.raises(LedgerkitFailure, match=f"{setting.key}.*merely found.*{setting.variable}"):
        read_settings(folder=tmp_path, environment={})


@pytest.mark.parametrize("place", ["../elsewhere", "/elsewhere", "s3://bucket/l", "~/l", "link/l", "file:///l"])
def test_a_found_file_may_name_no_ledger_outside_its_folder(place: str, tmp_path: Path) -> None:
    inner = tmp_path / "repository"
    inner.mkdir()
    (inner / "link").symlink_to(tmp_path)
    (inner / FILE_NAME).write_text(f'ledger = "{place}"\n', "utf-8")
    with pytest.raises(LedgerkitFailure, match="in its own folder"):
        read_settings(folder=inner, environment={})
    assert read_settings(inner / FILE_NAME, environment={}).values["ledger"]  # asked for by name, it may


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("limt = 3", r"no setting 'limt'\. Did you mean 'limit'"),
        ("[cost]\nbye = 'model'", r"no setting 'cost\.bye'\. Did you mean 'cost\.by'"),
        ("limit = '3'", "'limit' is '3', and must be a whole number"),
        ("limit = true", "must be a whole number"),
        ("limit = -1", "must be 0 or more"),
        ("quiet = 1", "must be true or false"),
        ("[fleet]\nby = 'weak'", "Did you mean 'week'"),
        ("ledger = [", "Give a TOML file with settings"),
        ("plugins = ['evil.py']", "no setting 'plugins'"),
        ("[compare]\nallow = 'all'", "no setting 'compare.allow'"),
        ("[judge]\nurl = 'http://127.0.0.1'", "no setting 'judge.url'"),
        ("[import]", "no setting 'import'"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_remedy(written: str, said: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(written, "utf-8")
    with pytest.raises(LedgerkitFailure, match=said) as caught:
        read_settings(folder=tmp_path, environment={})
    assert str(tmp_path / FILE_NAME) in caught.value.message
    assert FILE_NAME in call("runs", code=2).stderr
    assert FILE_NAME in call("compare", "label=a", "label=b", code=3).stderr


def test_a_hostile_file_cannot_drive_the_terminal(call: Call, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('"\\u001b[2J\\u202e" = 1\n', "utf-8")
    assert not {"\x1b", "\u202e"} & set(call("runs", code=2).output)


def test_a_wrong_variable_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGERKIT_LIMIT", "many")
    assert "LEDGERKIT_LIMIT is 'many', and must be a whole number" in call("runs", code=2).stderr


def test_a_missing_given_file_is_an_error_and_help_needs_none(call: Call, tmp_path: Path) -> None:
    assert "Check --config" in call("--config", tmp_path / "none.toml", "runs", code=2).stderr
    assert CliRunner().invoke(main, ["--config", str(tmp_path / "none.toml"), "--help"]).exit_code == 0


_KEYS = st.sampled_from([*SETTINGS, "allow", "judge.url", "plugins", "yes"])
_VALUES = st.one_of(st.text(max_size=8), st.integers(-2, 5), st.booleans(), st.just("../x"), st.just("on"))


@given(st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4))
def test_a_found_file_sets_what_it_may_or_is_refused(document: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / FILE_NAME).write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in document.items()))
        try:
            values = read_settings(folder=folder, environment={}).values
        except LedgerkitFailure:
            assert not all(key == "quiet" and isinstance(value, bool) for key, value in document.items())
            return
        assert values.keys() == document.keys()
        assert all(SETTINGS[key].in_found_file for key in values)
        assert Path(values.get("ledger", folder)).resolve().is_relative_to(folder.resolve())


def test_the_page_lists_every_setting() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for setting in SETTINGS.values():
        line = next(one for one in page.splitlines() if one.startswith(f"| `{setting.key}` |"))
        assert f"`{setting.variable}`" in line
        assert line.rstrip(" |").endswith("yes" if setting.in_found_file else setting.why_not), line
