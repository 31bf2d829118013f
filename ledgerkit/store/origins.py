"""Runs that came from a run of another session: which one, and after which message.

The log of such a run names the session that it came from; copies of records say how far the two go together. Both are
known only when the ledger holds both, so this is looked up, never stored: the answer is the same whoever came first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import duckdb

# What was said comes before what is noted: settings that are repeated word for word look like copies anywhere.
ORIGINS: Final = """
    with named as (
        select session_id, run_id, parent_run_id as parent from latest_runs
        where parent_run_id is not null and forked_at is null
    ), living as (
        select r.session_id, r.run_id, r.relation from latest_runs r
            semi join current_history h on r.session_id = h.session_id and r.run_id = h.run_id
    ), families as (
        select n.*, p.session_id as from_session, p.run_id as from_run, p.relation
        from named n join living p on p.session_id = n.parent where p.session_id <> n.session_id
        union
        select n.*, p.session_id, p.run_id, p.relation
        from named n join living p on p.run_id = n.parent where p.session_id <> n.session_id
    ), shared as (
        select session_id, run_id, sequence_no, message_id, source_record, kind in ('USER_TASK', 'ASSISTANT_RESPONSE',
            'AGENT_THOUGHT_SUMMARY', 'TOOL_CALL_REQUEST', 'TOOL_CALL_RESULT', 'FILE_OBSERVATION', 'DIFF_OBSERVATION'
            ) as is_said
        from current_history where part_index = 0 and length(source_record) = 36
            and hash(source_record) in (select record from shared_records)
            and session_id in (select session_id from families union select from_session from families)
    ), met as (
        select f.session_id, f.run_id, last(p.run_id order by c.is_said, c.sequence_no, p.sequence_no) as from_run,
            last(p.message_id order by c.is_said, c.sequence_no, p.sequence_no) as forked_at
        from families f
            join shared c on c.session_id = f.session_id and c.run_id = f.run_id
            join shared p on p.session_id = f.from_session and p.run_id = f.from_run
                and p.source_record = c.source_record
        group by all
    ), heads as (
        select session_id, run_id, first(from_run order by from_run <> parent, relation is not null,
            relation is distinct from 'fork', from_run) as from_run
        from families group by all
    )
    select h.session_id, h.run_id, coalesce(m.from_run, h.from_run) as parent_run_id, m.forked_at
    from heads h left join met m using (session_id, run_id)
"""
_NAMED: Final = "select 1 from latest_runs where parent_run_id is not null and forked_at is null limit 1"
_NONE: Final = "select session_id, run_id, parent_run_id, forked_at from latest_runs where false"


def fill_origins(connection: duckdb.DuckDBPyConnection) -> None:
    """Fills ``origins``, a row for each run that came from a run of another session, which the ledger holds.

    Its columns are ``session_id, run_id, parent_run_id, forked_at``. Where several runs of the other session hold
    copies, the one that holds the last counts; where none does, its main run, and ``forked_at`` is null.

    Args:
        connection: It has the views of history and runs, and ``shared_records``.
    """
    is_named = connection.execute(_NAMED).fetchone() is not None
    connection.execute(f"create or replace table origins as {ORIGINS if is_named else _NONE}")
