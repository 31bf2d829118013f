"""Commands in pages and notebooks: each has the options that are shown, and works on the demo ledger."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import click
import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit.cli import main
from ledgerkit.strategies import parse_strategy
from tests.docs.reading import WRITTEN, Block, blocks, cells, name_of, tokens_of

ENDS = {">", ">>", "|", "||", "&&", ";"}
"""Where a command ends in a line of the shell."""
NO_COMMANDS = {("journal", "1")}
"""The first line of a journal."""


@dataclass(frozen=True)
class Shown:
    """A command line in a page, without the word ``ledgerkit``.

    Attributes:
        is_whole: Whether it is one of a block, as somebody would type it; else it stands within a sentence.
    """

    page: str
    arguments: tuple[str, ...]
    is_whole: bool

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.arguments)}"


def shown_commands() -> Iterator[Shown]:
    for block in [*blocks("sh"), *blocks(""), *blocks("text"), *blocks("yaml"), *cells()]:
        for line in block.code.replace("\\\n", " ").splitlines():
            typed = re.match(r"\s*(?:\$ |!|(?:- )?run: )?ledgerkit (.+)", line)
            if typed and not (block.language == "text" and not line.startswith("$ ")):
                yield Shown(block.page, _words(typed[1]), is_whole=True)
    for path in WRITTEN:
        for token in tokens_of(path):
            for child in token.children or ():
                if (
                    child.type == "code_inline"
                    and child.content.startswith("ledgerkit ")
                    and path.name != "CHANGELOG.md"
                ):
                    yield Shown(name_of(path), _words(child.content.removeprefix("ledgerkit ")), is_whole=False)


def _words(line: str) -> tuple[str, ...]:
    words = shlex.split(line, comments=True)
    end = next((number for number, word in enumerate(words) if word in ENDS), len(words))
    return tuple(word.removesuffix("...") for word in words[:end] if word not in ("…", "[--step", "N]"))


SHOWN = sorted((shown for shown in set(shown_commands()) if shown.arguments not in NO_COMMANDS), key=str)


def check(shown: Shown) -> None:
    """Raises what a user would be told."""
    context = click.Context(main, info_name="ledgerkit")
    _, rest, _ = main.make_parser(context).parse_args(list(shown.arguments))
    command: click.Command = main
    while rest and isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"no command {rest[0]}")
        context = click.Context(found, context, rest[0])
        command = found
        typed = rest[1:]
        if not shown.is_whole and _wants_value(command, typed):
            typed = typed[:-1]
        values, rest, _ = command.make_parser(context).parse_args(typed)
        _check_values(command, context, values, shown)
    if rest:
        raise click.UsageError(f"one too many: {rest}")


def _wants_value(command: click.Command, typed: list[str]) -> bool:
    """Whether a sentence ends in the name of an option, as in: with ``--labels``."""
    return any(
        isinstance(option, click.Option) and not option.is_flag and typed[-1:] == [name]
        for option in command.params
        for name in option.opts
    )


def _check_values(command: click.Command, context: click.Context, values: dict[str, object], shown: Shown) -> None:
    for parameter in command.params:
        given = values.get(str(parameter.name))
        if given is None or not isinstance(given, str | list | tuple):  # not given, or a flag
            if shown.is_whole and parameter.required:
                raise click.MissingParameter(param=parameter, ctx=context)
        elif not isinstance(parameter.type, click.Path | click.File):  # files of a reader
            parameter.type_cast_value(context, given)
            if str(parameter.name).startswith("strateg"):
                for one in [given] if isinstance(given, str) else cast("Iterable[str]", given):
                    parse_strategy(one)


def test_pages_show_commands() -> None:
    assert len([shown for shown in SHOWN if shown.is_whole]) > 60
    named = {shown.arguments[0] for shown in SHOWN if shown.arguments}
    assert sorted(set(main.list_commands(click.Context(main))) - named) == [], "a command that no page speaks of"


@pytest.mark.parametrize("shown", [pytest.param(shown, id=str(shown)) for shown in SHOWN])
def test_a_shown_command_is_one(shown: Shown) -> None:
    check(shown)


@pytest.mark.parametrize(
    "arguments",
    [("cost", "--no-such"), ("no-such",), ("runs", "x"), ("show",), ("export", "--format", "x", "--out", "y"),
     ("evaluate", "NoStrategy(1)"), ("compare", "a")],
)  # fmt: skip
def test_the_check_finds_what_is_wrong(arguments: tuple[str, ...]) -> None:
    with pytest.raises((click.UsageError, lk.LedgerkitError)):
        check(Shown("made", arguments, is_whole=True))


@pytest.mark.parametrize("block", [*blocks("sql")], ids=lambda block: f"{block.page}:{block.line}")
def test_a_shown_query_runs(block: Block, demo_path: Path) -> None:
    with lk.open(demo_path, create=False) as ledger:
        assert ledger.sql(block.code).columns


READING = {
    "runs", "show", "search", "replay", "context", "cost", "sql", "report", "export", "audit", "claims", "judgements",
    "evaluate", "fleet", "memory", "verify", "checkpoint", "prove", "info",
}  # fmt: skip
NEED_MORE = ("--cluster", "--file", "--prices", "--labels", "--checkpoint", "--since", "--sample", "--gate")
"""Options whose files or servers are the reader's."""


def runnable() -> list[Shown]:
    """Commands that read a ledger and need nothing that the demo does not have."""
    return [
        shown
        for shown in SHOWN
        if shown.is_whole and shown.arguments[0] in READING and not set(NEED_MORE) & set(shown.arguments)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("shown", [pytest.param(shown, id=str(shown)) for shown in runnable()])
def test_a_shown_command_works_on_the_demo_runs(
    shown: Shown, demo_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lk.open(demo_path, create=False) as ledger:
        first, second = ledger.sql("select run_id from runs where steps > 12 order by steps desc, run_id")["run_id"][:2]
        message = ledger.sql("select message_id from messages order by all limit 1").item()
    there = {"RUN": first, "RUN_ID": first, "OTHER": second, "MESSAGE": message}
    monkeypatch.chdir(tmp_path)
    arguments = [there.get(word, word) for word in shown.arguments]
    done = CliRunner().invoke(main, [*arguments, "--ledger", str(demo_path)])
    assert done.exit_code == 0, done.output
