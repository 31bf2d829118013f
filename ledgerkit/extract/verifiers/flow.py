"""Whose exit code a shell line ends with, and what of a program's output it shows.

Exit codes: POSIX.1-2017, Shell Command Language, 2.8.2 and 2.9 (a pipeline ends as its last program does, unless
``pipefail``; a list as its last command; an AND-OR list as the last command that ran).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from ledgerkit.extract.shell import SimpleCommand
from ledgerkit.extract.verifiers.model import Shown
from ledgerkit.extract.verifiers.structure import Chain, Line, Pipeline, commands_of
from ledgerkit.extract.words import words

_QUIET: Final = frozenset(
    words("cd pushd popd export set source . echo printf true : mkdir clear unset ulimit sleep ls pwd date")
)
"""Commands before ``&&`` whose failure shows itself or hardly happens: an exit code is not theirs."""
_PASSING: Final = frozenset(words("tail tee cat head less more"))
"""Programs behind a pipe that do not fail by themselves."""
_FILTERS: Final = {
    **dict.fromkeys(("cat", "tee", "less", "more"), Shown.WHOLE),
    "tail": Shown.END,
    "head": Shown.START,
    **dict.fromkeys(words("grep egrep fgrep rg ag"), Shown.SELECTED),
}
_COUNTS_ONLY: Final = re.compile(r"-[a-zA-Z]*[coqlL][a-zA-Z]*|--(?:count|only-matching|quiet|silent|files-with.*)")
_OPENS: Final = frozenset(words("if for while until case select {"))
_CLOSES: Final = frozenset(words("fi done esac }"))
_CONTINUES: Final = frozenset(words("do then else elif ! time"))
_FILE_DESCRIPTOR: Final = re.compile(r"(\d?)(?:&>>?|>>|>\||>&|>)\s*[\"']?$")
_PRINTED: Final = re.compile(r"\$\?|\$\{PIPESTATUS\[0\]\}|\$PIPESTATUS")


@dataclass(frozen=True, slots=True)
class Placed:
    """A command of a line, and what the line lets through of it."""

    command: SimpleCommand
    zero_is_own: bool = True
    failure_is_own: bool = True
    hidden_by: str = ""
    shown: Shown = Shown.WHOLE
    printed_code: str = ""


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a command."""

    zero: bool = True
    failure: bool = True
    hidden_by: str = ""
    shown: Shown = Shown.WHOLE
    exits_on_error: bool = False
    is_pipefail: bool = False
    printed_code: str = ""

    def hidden(self, reason: str) -> _Around:
        is_hidden = bool(self.hidden_by) and not self.zero
        return replace(self, zero=False, failure=False, hidden_by=self.hidden_by if is_hidden else reason)

    def failing_elsewhere(self, reason: str) -> _Around:
        return replace(self, failure=False, hidden_by=self.hidden_by or reason)


def place_commands(line: Line, text: str) -> Iterator[Placed]:
    """The commands of a line, with what it lets through of each."""
    everything = list(commands_of(line))
    options = " ".join(" ".join(word.value for word in one.words) for one in everything if _program(one) == "set")
    around = _Around(
        exits_on_error=re.search(r"(?:^|\s)-[a-z]*e", options) is not None,
        is_pipefail="pipefail" in options,
    )
    for placed in _line(line, around):
        shown = _redirected(placed, everything, text)
        yield replace(placed, shown=max(placed.shown, shown))
    for command in line.substituted:
        yield Placed(
            command, zero_is_own=False, failure_is_own=False, hidden_by="a command substitution", shown=Shown.CHANGED
        )


def _line(line: Line, around: _Around) -> Iterator[Placed]:
    depth = 0
    for number, chain in enumerate(line.chains):
        following = line.chains[number + 1] if number + 1 < len(line.chains) else None
        here = _of_chain(chain, following, around)
        opened = [word for one in _simple(chain) for word in _keywords(one)]
        inside = depth > 0 or any(word in _OPENS for word in opened)
        depth = max(0, depth + sum(w in _OPENS for w in opened) - sum(w in _CLOSES for w in opened))
        yield from _chain(chain, replace(here.hidden(""), hidden_by="a compound command") if inside else here)


def _keywords(command: SimpleCommand) -> Iterator[str]:
    values = (word.value for word in command.words)
    return takewhile(lambda value: value in _OPENS or value in _CLOSES or value in _CONTINUES, values)


def _of_chain(chain: Chain, following: Chain | None, around: _Around) -> _Around:
    if chain.end == "&":
        return around.hidden("running in the background")
    if following is None:
        return around
    around = replace(around, printed_code=_printed_code(following))
    if around.exits_on_error:
        return around.failing_elsewhere("commands after it")
    return around.hidden(f"'; {_last_program(following)}' after it")


def _simple(chain: Chain) -> Iterator[SimpleCommand]:
    for pipeline in chain.pipelines:
        for stage in pipeline.stages:
            if not isinstance(stage, Line):
                yield stage


def _chain(chain: Chain, around: _Around) -> Iterator[Placed]:
    for number, pipeline in enumerate(chain.pipelines):
        before, after = chain.joints[:number], chain.joints[number:]
        here = around
        if number + 1 < len(chain.pipelines):
            here = replace(here, printed_code="")
        if "||" in after:
            here = replace(here, zero=False, hidden_by=here.hidden_by or "'||' after it")
        if before and before[-1] == "||":
            here = replace(here, zero=False, hidden_by=here.hidden_by or "'||' before it")
        elif before and not all(_is_quiet(one) for one in chain.pipelines[:number]):
            here = here.failing_elsewhere("commands before '&&'")
        if "&&" in after:
            here = here.failing_elsewhere("commands after '&&'")
        yield from _pipeline(pipeline, here)


def _is_quiet(pipeline: Pipeline) -> bool:
    return all(not isinstance(stage, Line) and _program(stage) in _QUIET for stage in pipeline.stages)


def _pipeline(pipeline: Pipeline, around: _Around) -> Iterator[Placed]:
    for number, stage in enumerate(pipeline.stages):
        later = pipeline.stages[number + 1 :]
        here = replace(around, shown=max([around.shown, *(_filter(one) for one in later)]))
        if later:
            names = [_last_program(one) for one in later]
            if not around.is_pipefail:
                here = here.hidden(f"'| {names[-1]}' after it")
            elif not _PASSING.issuperset(names):
                here = here.failing_elsewhere(f"'| {names[-1]}' after it")
        if here.printed_code and ("PIPESTATUS" in here.printed_code) != bool(later):
            here = replace(here, printed_code="")
        if number:
            here = replace(here, printed_code="" if later else here.printed_code)
        yield from _stage(stage, here)


def _stage(stage: SimpleCommand | Line, around: _Around) -> Iterator[Placed]:
    if isinstance(stage, Line):
        yield from _line(stage, replace(around, printed_code=""))
        return
    if stage.words and stage.words[0].value == "!":
        around = around.hidden("'!' before it")
    pattern = around.printed_code.replace("PIPESTATUS", "", 1)
    yield Placed(stage, around.zero, around.failure, around.hidden_by, around.shown, pattern)


def _program(command: SimpleCommand) -> str:
    values = [word.value for word in command.words if word.value not in _CONTINUES and word.value != "{"]
    return values[0].rsplit("/", 1)[-1] if values else ""


def _last_program(stage: SimpleCommand | Line | Chain) -> str:
    if isinstance(stage, SimpleCommand):
        return _program(stage)
    last = list(commands_of(Line([stage]) if isinstance(stage, Chain) else stage))
    return _program(last[-1]) if last else ""


def _filter(stage: SimpleCommand | Line) -> Shown:
    if isinstance(stage, Line):
        return Shown.CHANGED
    shown = _FILTERS.get(_program(stage), Shown.CHANGED)
    if shown is Shown.SELECTED and any(_COUNTS_ONLY.fullmatch(word.value) for word in stage.words[1:]):
        return Shown.CHANGED
    return shown


def _redirected(placed: Placed, everything: Sequence[SimpleCommand], text: str) -> Shown:
    """What is shown of an output that goes to a file: what a later command shows of the file."""
    for redirection in placed.command.redirections:
        place = redirection.target.start
        found = _FILE_DESCRIPTOR.search(text[max(0, place - 8) : place])
        if not redirection.writes or found is None or found[1] not in ("", "1"):
            continue
        target = redirection.target.value
        later = [one for one in everything if any(word.value == target for word in one.words)]
        return min((_filter(one) for one in later), default=Shown.NOTHING)
    return Shown.WHOLE


def _printed_code(following: Chain) -> str:
    """The pattern of what ``echo`` prints of an exit code, marked where it is that of the first program of a pipe."""
    first = next(_simple(following), None)
    if first is None or _program(first) != "echo" or len(following.pipelines[0].stages) != 1:
        return ""
    said = " ".join(word.value for word in first.words[1:] if word.value not in ("-e", "-n"))
    found = _PRINTED.search(said)
    if found is None or said.count("$") + said.count("`") > 1:
        return ""
    before, behind = said[: found.start()].lstrip(), said[found.end() :].rstrip()
    pattern = rf"^{re.escape(before)}(\d{{1,3}}){re.escape(behind)}[ \t\r]*$"
    return pattern if found[0] == "$?" else f"PIPESTATUS{pattern}"
