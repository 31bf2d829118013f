"""Rows of ``history`` and ``runs`` for tests of their hashes, and the hashes as their description says them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, cast

import polars as pl

from ledgerkit import tables
from ledgerkit.tables import Role, Table

START: Final = datetime(2026, 2, 1, 9, 0, 0, 5, tzinfo=UTC)
Row = Mapping[str, Any]


def part(run: str, number: int, index: int = 0, **fields: Any) -> dict[str, Any]:
    """A part of a message of a run."""
    keys = {"session_id": "s", "run_id": run, "revision": 0, "sequence_no": number, "part_index": index}
    return dict.fromkeys(tables.HISTORY.names) | keys | {"message_id": f"{run}-{number}", "kind": "USER_TASK"} | fields


def parts() -> list[dict[str, Any]]:
    """Two runs; one message has two parts, and values of every type."""
    return [
        part("a", 0, text="grüße", created_at=START, reported_cost=Decimal("0.000000012")),
        part("a", 1, 0, text="first", artifact_refs=["ä", "bc"], metadata='{"record": {}}'),
        part("a", 1, 1, data="{}", token_count=7),
        part("a", 2),
        part("b", 0, text="other", evidence_refs=[]),
    ]


def facts(run: str, later: int = 0, **fields: Any) -> dict[str, Any]:
    """A row of ``runs``."""
    keys = {"session_id": "s", "run_id": run, "revision": 0, "recorded_at": START + timedelta(days=later)}
    return dict.fromkeys(tables.RUNS.names) | keys | {"agent": "me"} | fields


def counted(count: int) -> bytes:
    """So many bytes, no two slices alike."""
    return b"".join(number.to_bytes(2, "big") for number in range((count + 1) // 2))[:count]


def canonical(table: Table, role: Role, rows: Iterable[Row]) -> str:
    """The canonical form of some rows, each with its length before it, as the format's description says it."""
    return "".join(_net(_form(table, role, row)) for row in rows)


def _form(table: Table, role: Role, row: Row) -> str:
    names = sorted(c.name for c in table.columns if c.role is role and row[c.name] is not None)
    return "".join(f"{name}={_net(_said(row[name]))}" for name in names)


def _net(value: str) -> str:
    return f"{len(value.encode())}:{value},"


def _said(value: Any) -> str:
    if isinstance(value, datetime):
        return str((value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    if isinstance(value, Decimal):
        return str(int(value * 10**9))
    if isinstance(value, bytes):
        return value.hex()
    return "".join(_net(str(one)) for one in cast("list[object]", value)) if isinstance(value, list) else str(value)


def expected_leaf(rows: Sequence[Row], salt: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Commitment and leaf hash of the parts of a message, behind the message before it."""
    commit = sha256(salt + canonical(tables.HISTORY, Role.CONTENT, rows).encode()).digest()
    fixed = canonical(tables.HISTORY, Role.FIXED, rows).encode()
    return commit, sha256(b"\x00ledgerkit/message/1\n" + before + commit + fixed).digest()


def changed(rows: pl.DataFrame, where: pl.Expr, **values: Any) -> pl.DataFrame:
    """Rows with other values in some cells."""
    return rows.with_columns(
        pl.when(where).then(pl.lit(value, rows.schema[name])).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )
