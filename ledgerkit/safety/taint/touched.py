"""What a call would touch, by what its arguments name: files, hosts, and whether it hides either."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

import polars as pl

from ledgerkit.extract.arguments import extract_argument_entities
from ledgerkit.extract.commands import NETWORK_PROGRAMS
from ledgerkit.extract.paths import normalise_path
from ledgerkit.protocol.toolcalls import canonical_json
from ledgerkit.safety.taint.arguments import sink_of_argument, sinks_of
from ledgerkit.safety.taint.known import SinkClass

Place = tuple[str, bool]
"""A path in its one form, and whether it lies in the workspace."""

_NETWORK_WORDS: Final = re.compile(
    r"\bgit\b[^|;&\n]*\b(?:push|pull|fetch|clone|ls-remote|submodule)\b|\b(?:gh|glab|aws|gcloud|az|kubectl|docker)\b"
    r"|/dev/(?:tcp|udp)/"
)
_OPAQUE: Final = re.compile(
    r"\beval\b|\|\s*(?:sudo\s+)?(?:ba|z|da|k|)sh\b|\|\s*(?:sudo\s+)?(?:python[\d.]*|perl|ruby|node)\b"
    r"|(?:^|[;&|(]\s*)[\"']?\$\{?\w|\bbase64\s+(?:-d|-D|--decode)\b|\b(?:python[\d.]*|perl|ruby|node|php)\s+-[ce]\b"
)
_PATTERN_NAMES: Final = ("pattern", "glob", "include")
_LISTS_FILES: Final = re.compile(r"glob|find|list|^ls$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallNeeds:
    """What a call would touch."""

    tool_name: str
    """The tool."""
    reads: tuple[Place, ...]
    """Paths that it may read."""
    writes: tuple[Place, ...]
    """Paths that it may write; what might do either stands in both."""
    hosts: tuple[str, ...]
    """Hosts that it names."""
    has_hidden_network: bool
    """Whether it reaches the network without naming where."""
    is_opaque: bool
    """Whether it runs what it does not show."""
    is_vague: bool
    """Whether it writes without saying what."""

    @property
    def writes_outside(self) -> bool:
        """Whether it may write outside the workspace."""
        return any(not inside for _, inside in self.writes)

    @property
    def subjects(self) -> tuple[str, ...]:
        """The call as subjects of instructions and approvals: the tool first, then files and hosts."""
        files = [_subject("files", path) for path, inside in self.writes if inside]
        return (_subject("tools", self.tool_name), *files, *(_subject("network", host) for host in self.hosts))


def needs_of(tool_name: str, arguments: object, working_directory: str | None) -> CallNeeds:
    """What a call would touch.

    Raises:
        ProtocolError: If its arguments have no JSON form.
    """
    return needs_of_many([(tool_name, arguments, working_directory)])[0]


def needs_of_many(calls: Sequence[tuple[str, object, str | None]]) -> list[CallNeeds]:
    """What each of some calls would touch, read in one pass.

    Args:
        calls: Name of the tool, arguments, and the workspace's root where it is known.

    Raises:
        ProtocolError: If arguments have no JSON form.
    """
    names = pl.Series("tool_name", [name for name, _, _ in calls], pl.String)
    asked = pl.DataFrame(
        {
            "id": [str(number) for number in range(len(calls))],
            "data": [canonical_json(arguments) for _, arguments, _ in calls],
            "tool_sink": sinks_of(names, {})["tool_sink"],
            "working_directory": [folder for _, _, folder in calls],
        },
        schema=dict.fromkeys(("id", "data", "tool_sink", "working_directory"), pl.String),
    )
    is_exec = pl.col("tool_sink") == SinkClass.EXEC.value
    asked = asked.with_columns(form=pl.when(is_exec).then(pl.lit("shell")).otherwise(pl.lit("content")))
    found = extract_argument_entities(asked.drop("tool_sink"))
    found = found.join(asked.select("id", "tool_sink"), on="id", how="left", maintain_order="left")
    found = found.with_columns(sink=sink_of_argument())
    parted = {str(key[0]): rows for key, rows in found.partition_by("id", as_dict=True, maintain_order=True).items()}
    return [
        _needs(*call, str(sink), parted.get(str(number), found.clear()))
        for number, (call, sink) in enumerate(zip(calls, asked["tool_sink"], strict=True))
    ]


def _needs(
    tool_name: str, arguments: object, working_directory: str | None, tool_sink: str, found: pl.DataFrame
) -> CallNeeds:
    is_network = tool_sink == SinkClass.NETWORK.value
    paths = found.filter(pl.col("kind") == "path")
    does = found.filter(pl.col("form") != "content")
    lines = does.filter(pl.col("form") == "shell")["text"].unique().to_list()
    hosts = _hosts(does, with_mail=is_network)
    programs = set(does.filter(pl.col("kind") == "command")["value"])
    hides = bool(programs & NETWORK_PROGRAMS) or "package" in does["kind"] or (is_network and not hosts)
    writes = _touched(paths, SinkClass.READ)
    listed = _listed(tool_name, arguments, working_directory) if tool_sink == SinkClass.READ.value else ()
    return CallNeeds(
        tool_name=tool_name,
        reads=(*_touched(paths, SinkClass.WRITE), *listed),
        writes=writes,
        hosts=hosts,
        has_hidden_network=hides or any(_NETWORK_WORDS.search(line) for line in lines),
        is_opaque=any(_OPAQUE.search(line) for line in lines),
        is_vague=tool_sink == SinkClass.WRITE.value and not writes,
    )


def _hosts(does: pl.DataFrame, *, with_mail: bool) -> tuple[str, ...]:
    kinds = ["host", "ip", "email"] if with_mail else ["host", "ip"]
    named = does.filter(pl.col("kind").is_in(kinds))
    return tuple(named["value"].str.extract(r"([^@]+)$").unique().sort())


def _touched(paths: pl.DataFrame, unless: SinkClass) -> tuple[Place, ...]:
    kept = paths.filter(pl.col("sink") != unless.value)
    rows = kept.select("value", pl.col("is_inside").fill_null(value=False)).unique().sort("value", "is_inside").rows()
    return tuple((str(value), bool(inside)) for value, inside in rows)


def _listed(tool_name: str, arguments: object, root: str | None) -> Iterator[Place]:
    """Folders that a pattern of file names reaches, where it is not one of the workspace."""
    if not isinstance(arguments, dict) or _LISTS_FILES.search(tool_name) is None:
        return
    for name, value in cast("dict[str, object]", arguments).items():
        if name in _PATTERN_NAMES and isinstance(value, str) and re.match(r"/|~|(?:.*/)?\.\.(?:/|$)", value):
            folder = re.split(r"[*?\[{]", value, maxsplit=1)[0]
            place = normalise_path(folder, root)
            yield place.value, bool(place.is_inside)


def _subject(kind: str, name: str) -> str:
    """A name as a subject; what a subject may not hold becomes a plain dash."""
    parts = [part if part not in ("", ".", "..") else "-" for part in name.replace("\\", "-").strip("/").split("/")]
    return "/".join([kind, *parts])
