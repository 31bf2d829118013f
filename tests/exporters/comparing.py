"""What a ledger says, in the terms that formats of conversations have."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import ledgerkit as lk
from ledgerkit.importers.shapes import is_object
from ledgerkit.protocol.vocabulary import TrustLevel
from tests.conftest import NOW

FAMILY: Final = {
    "SYSTEM_INSTRUCTION": "system", "DEVELOPER_INSTRUCTION": "system", "ORG_POLICY": "system",
    "REPOSITORY_INSTRUCTION": "repository", "USER_TASK": "user", "ASSISTANT_RESPONSE": "assistant",
    "TOOL_CALL_RESULT": "result", "FILE_OBSERVATION": "file", "DIFF_OBSERVATION": "diff",
}  # fmt: skip
"""Kinds that every format of conversations can say, kinds of one role together."""
_SAID: Final = """
    select if(bool_or(part_type = 'tool_result') and any_value(kind) = 'APPROVAL_DECISION', 'TOOL_CALL_RESULT',
            any_value(kind)) as kind,
        string_agg(coalesce(text, if(part_type = 'json', data, null)), chr(10) order by part_index) as said
    from parts where part_visibility in ('MODEL_VISIBLE', 'REDACTED') and part_type <> 'tool_call'
    group by session_id, run_id, message_id
"""
_CALLS: Final = "select tool_name, arguments, status, coalesce(result_text, '') as result from tool_calls"
_USAGE: Final = """
    select count(*) as calls, sum(input_tokens)::bigint as input, sum(output_tokens)::bigint as output,
        sum(cache_read_tokens)::bigint as read, sum(reasoning_tokens)::bigint as reasoning,
        sum(coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0))::bigint as written,
        sum(reported_cost) as cost
    from model_calls c where step is not null and (input_tokens is not null or output_tokens is not null)
        and exists (from messages m where m.run_id = c.run_id and m.call_id = c.call_id
            and m.kind in ('ASSISTANT_RESPONSE', 'TOOL_CALL_REQUEST', 'AGENT_THOUGHT_SUMMARY'))
"""


def exchanged(
    ledger: lk.Ledger, folder: Path, format: str, audience: lk.Audience = lk.Audience.AUDIT
) -> tuple[lk.ExportAccount, lk.Ledger]:
    """A ledger exported and imported into another one."""
    account = ledger.export(folder / "out", format=format, audience=audience)
    other = lk.open(folder / "other.ledger", key=b"other" * 6 + b"xx")
    taken = other.import_logs(folder / "out", now=NOW)
    assert taken.closes
    assert taken.quarantined == 0
    assert taken.unsupported == ()
    return account, other


def said(ledger: lk.Ledger) -> Counter[tuple[str, str]]:
    """Who was told what; empty messages left out."""
    rows = ledger.sql(_SAID).rows()
    return Counter((FAMILY[kind], text) for kind, text in rows if kind in FAMILY and text)


def calls(ledger: lk.Ledger) -> Counter[tuple[str, ...]]:
    """Tool calls with their arguments, how they ended and what they returned."""
    found: Counter[tuple[str, ...]] = Counter()
    for name, raw, status, result in ledger.sql(_CALLS).rows():
        arguments: Any = json.loads(raw) if raw else {}
        whole: Any = arguments if is_object(arguments) else {"value": arguments}
        found[name, json.dumps(whole, sort_keys=True), status, result] += 1
    return found


def usage(ledger: lk.Ledger) -> dict[str, Any]:
    """Sums over the model calls that answered; one that failed or wrote a summary has no answer to stand with."""
    return ledger.sql(_USAGE).to_dicts()[0]


def tasks(ledger: lk.Ledger) -> list[tuple[Any, ...]]:
    """Tasks and outcomes of runs."""
    return ledger.sql("select task_id, outcome, count(*) from runs group by all order by all").rows()


def highest_trust(ledger: lk.Ledger) -> dict[str, int]:
    """The best label that each text has, as a rank: small is trusted."""
    rows = ledger.sql("select text, part_trust_level from parts where text <> ''").rows()
    ranks: dict[str, int] = {}
    for text, trust in rows:
        rank = TrustLevel(trust).rank
        ranks[text] = min(rank, ranks.get(text, rank))
    return ranks


def lost(account: lk.ExportAccount, kind: str, field: str) -> int:
    """How much of something an export left out."""
    return sum(loss.count for loss in account.losses if (loss.kind, loss.field) == (kind, field))
