"""The views as SQL over the stored tables: judgements about rows, none of them stored.

Which revision of a run counts, which usage row of a model call counts and whether the call is billed, which copy of
a record is the original: each is decided here, by rules that do not depend on the order of imports.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.store.explained import USAGE_EXPLAINED

_MESSAGE_COLUMNS: Final = (
    "session_id, run_id, sequence_no, message_id, kind, trust_level, visibility, actor, created_at, step, "
    "visible_from, parent_message_id, trace_id, idempotency_key, import_id, source_file, source_offset, "
    "source_line, source_record"
)
_PART_COLUMNS: Final = (
    "part_id, part_type, content_type, part_trust_level, part_visibility, text, data, summary, artifact_refs, "
    "tool_call_id, tool_name, arguments_hash, status, started_at, finished_at, path, error_category, evidence_refs, "
    "token_count, byte_count, content_id"
)
_USAGE_COLUMNS: Final = (
    "call_id, model, provider, service_tier, input_tokens, cache_read_tokens, cache_write_5m_tokens, "
    "cache_write_1h_tokens, output_tokens, reasoning_tokens, reported_cost"
)
_USAGE_FIGURES: Final = _USAGE_COLUMNS.removeprefix("call_id, ")

_CONVERTED: Final = "atif"
"""The format that other agents' logs are converted to."""

RETIRED: Final = "RETIRED"
"""Status of the one row that says: a later import showed that there is no such run."""

# The current rows: of each run its highest revision. ``superseding`` holds only runs that have more than one
# (it is filled when the views are made), so that a ledger without revisions pays nothing.
CURRENT: Final = f"""
    select h.* exclude (run_date, revision)
    from stored_history h left join superseding s on h.session_id = s.session_id and h.run_id = s.run_id
    where (s.run_id is null or h.revision = s.revision) and h.status is distinct from '{RETIRED}'
"""  # noqa: S608

SUPERSEDING: Final = """
    select session_id, run_id, max(revision) as revision from {} where revision > 0 group by all
"""

# A fork or resumed session repeats its parent's records under another session. The original is the copy in the
# session that began first; ids decide between equals. Kept as a table, like ``superseding``: whether a message is a
# copy depends on all sessions, and few are.
COPIES: Final = """
    select message_id from (
        select message_id, session_id, first_value(session_id) over (
            partition by source_record, kind, content_id, part_type order by began, session_id) as origin
        from current_history join (select session_id, min(created_at) as began from current_history group by 1)
            using (session_id)
        where part_index = 0 and length(source_record) = 36
            and hash(source_record) in (select record from shared_records)
    ) where session_id <> origin
"""

# Which records stand in several sessions, by hashes and a part at a time: grouping the ids themselves would take half a
# gigabyte for two million. A hash that two records share only makes the exact query above look at one more.
RECORD_PARTS: Final = 8
RECORDS: Final = """
    select hash(source_record) as record, hash(session_id) as session from stored_history
    where part_index = 0 and length(source_record) = 36
"""
SHARED_RECORDS: Final = f"""
    select record from records where record % {RECORD_PARTS}::ubigint = {{}}::ubigint
    group by record having min(session) <> max(session)
"""  # noqa: S608

# Messages of more than one part: few, and a view that joins them to all others would read everything.
MULTIPART: Final = "select distinct message_id from {} where part_index = 1"

CACHED: Final[dict[str, str]] = {"superseding": SUPERSEDING, "multipart": MULTIPART}
"""Small tables that are filled when the history has changed, before the views are used."""

LATEST_RUNS: Final = """
    select * from stored_runs
    qualify row_number() over (partition by session_id, run_id order by recorded_at desc, import_id desc) = 1
"""

MESSAGES: Final = f"""
    select {_MESSAGE_COLUMNS}, metadata, coalesce(m.part_count, 1) as part_count, coalesce(m.all_text, text) as text,
        coalesce(m.all_tokens, token_count) as token_count, call_id, model,
        message_id in (select message_id from copies) as is_copy, leaf_index, lower(hex(leaf_hash)) as leaf_hash, erased
    from current_history left join (
        select session_id, run_id, message_id, count(*) as part_count, sum(token_count)::bigint as all_tokens,
            string_agg(text, chr(10) order by part_index) as all_text
        from current_history where message_id in (select message_id from multipart)
        group by session_id, run_id, message_id
    ) m using (session_id, run_id, message_id)
    where part_index = 0
"""  # noqa: S608

PARTS: Final = f"""
    select {_MESSAGE_COLUMNS}, metadata, part_index, {_PART_COLUMNS}, call_id, model, erased from current_history
"""  # noqa: S608

TOOL_CALLS: Final = """
    with results as (
        select session_id, run_id, tool_call_id, message_id, text, status, error_category, path,
            coalesce(finished_at, created_at) as ended_at
        from current_history where part_type = 'tool_result'
        qualify row_number() over (
            partition by session_id, run_id, tool_call_id order by sequence_no, part_index) = 1
    ), sums as (
        select session_id, run_id, tool_call_id, count(*) filter (part_type = 'tool_result') as result_count,
            sum(token_count) filter (part_visibility in ('MODEL_VISIBLE', 'REDACTED'))::bigint as result_tokens,
            arg_max(part_trust_level, list_position(['PLATFORM_TRUSTED', 'ORG_TRUSTED', 'USER_TRUSTED',
                'TOOL_TRUSTED', 'MODEL_GENERATED', 'REPOSITORY_UNTRUSTED', 'NETWORK_UNTRUSTED', 'UNKNOWN'],
                part_trust_level)) as result_trust_level
        from current_history where tool_call_id is not null and part_type not in ('tool_call', 'diff')
        group by session_id, run_id, tool_call_id
    )
    select c.session_id, c.run_id, c.step, c.sequence_no, c.message_id, c.tool_call_id, c.tool_name,
        c.data as arguments, c.arguments_hash, coalesce(c.path, r.path) as path,
        coalesce(r.status, 'UNKNOWN') as status, r.error_category,
        coalesce(c.started_at, c.created_at) as started_at, r.ended_at as finished_at,
        epoch_us(r.ended_at - coalesce(c.started_at, c.created_at)) / 1e6 as duration_s,
        r.message_id as result_message_id, r.text as result_text, coalesce(result_count, 0) as result_count,
        result_tokens, result_trust_level, c.message_id in (select message_id from copies) as is_copy
    from current_history c
        left join results r
            on c.session_id = r.session_id and c.run_id = r.run_id and c.tool_call_id = r.tool_call_id
        left join sums x
            on c.session_id = x.session_id and c.run_id = x.run_id and c.tool_call_id = x.tool_call_id
    where c.part_type = 'tool_call'
"""

# One row counts for a model call of a run: the last in the order of the source. One run counts for a model call of
# the ledger: the one in the session that began first. A run that ATIF tells of a session whose agent's own log is there
# with its usage is a converted copy, and its calls are those of that log.
USAGE_ROWS: Final = f"""
    with usage as (
        select session_id, run_id, sequence_no, message_id, created_at, {_USAGE_COLUMNS}, source_file, source_line,
            row_number() over (partition by session_id, run_id, call_id order by sequence_no desc) as from_last
        from current_history
        where part_index = 0 and call_id is not null and (input_tokens is not null or output_tokens is not null)
    ), converted as (
        select session_id, run_id from latest_runs where source_format = '{_CONVERTED}'
            and session_id in (select session_id from latest_runs where source_format <> '{_CONVERTED}')
    ), told as (
        select distinct u.session_id from usage u join converted c on u.session_id = c.session_id
        where (u.session_id, u.run_id) not in (select (session_id, run_id) from converted)
    ), ranked as (
        select usage.*, c.run_id is not null and t.session_id is not null as is_converted,
            row_number() over (partition by call_id, from_last = 1 order by began, session_id, run_id) as among_runs
        from usage join (select session_id, min(created_at) as began from current_history group by 1)
            using (session_id)
            left join converted c using (session_id, run_id) left join told t using (session_id)
    )
    select session_id, run_id, sequence_no, message_id, created_at, {_USAGE_COLUMNS},
        from_last = 1 and among_runs = 1 and not is_converted and model is distinct from '<synthetic>' as billed,
        case when model = '<synthetic>' then 'synthetic: written by the client, no call was made'
            when from_last > 1 then 'earlier snapshot of the same call'
            when among_runs > 1 then 'copy of a call that another run made'
            when is_converted then 'converted copy: the agent''s own log of the session counts' end as billed_reason,
        source_file, source_line
    from ranked
"""  # noqa: S608

MODEL_CALLS: Final = f"""
    with calls as (
        select session_id, run_id, call_id, min(step) as step, arg_min(message_id, sequence_no) as message_id,
            min(created_at) as created_at, max(created_at) as finished_at,
            first(model order by sequence_no) as any_model, first(provider order by sequence_no) as any_provider
        from current_history where part_index = 0 and call_id is not null group by session_id, run_id, call_id
    ), counted as (
        select session_id, run_id, call_id, {_USAGE_FIGURES}, billed, billed_reason,
            count(*) over (partition by session_id, run_id, call_id) as usage_rows
        from usage_rows
        qualify row_number() over (partition by session_id, run_id, call_id order by sequence_no desc) = 1
    )
    select c.session_id, c.run_id, if(any_model = '<synthetic>', null, c.step) as step, c.message_id, c.created_at,
        c.finished_at, c.call_id, coalesce(u.model, any_model) as model,
        coalesce(u.provider, any_provider) as provider,
        u.* exclude (session_id, run_id, call_id, model, provider, billed, billed_reason, usage_rows),
        coalesce(u.usage_rows, 0) as usage_rows, coalesce(u.billed, false) as billed,
        if(u.call_id is null, 'no usage recorded', u.billed_reason) as billed_reason
    from calls c left join counted u
        on c.session_id = u.session_id and c.run_id = u.run_id and c.call_id = u.call_id
"""  # noqa: S608

RUNS: Final = """
    with spans as (
        select session_id, run_id, coalesce(min(created_at) filter (not was_told_later), min(created_at)) as started_at,
            coalesce(max(created_at) filter (not was_told_later), max(created_at)) as finished_at,
            count(distinct message_id) as messages,
            count(distinct message_id) filter (
                kind = 'ERROR_EVENT' and error_category is distinct from 'unknown_record') as errors,
            count(distinct message_id) filter (error_category = 'unknown_record') as unknown_records
        from (select *, kind in ('VERIFIER_RESULT', 'JUDGE_RESULT') and coalesce(idempotency_key, '') like 'labels:%'
            as was_told_later from current_history) group by session_id, run_id
    ), asked as (
        select session_id, run_id, any_value(left(text, 500) order by sequence_no, part_index) as task
        from current_history where kind = 'USER_TASK' and text is not null group by session_id, run_id
    ), compacted as (
        select session_id, run_id, count(*) as compactions from current_history
        where kind = 'RUN_SUMMARY' and part_index = 0 and (metadata->>'$.reason' = 'compaction'
            or (part_type = 'json' and data->>'$.note' = 'compaction'))
        group by session_id, run_id
    ), judged as (
        select session_id, run_id, last(status order by sequence_no, part_index) as outcome from current_history
        where kind = 'VERIFIER_RESULT' and part_type = 'verification' and data->>'$.scope' = 'run'
            and part_trust_level in ('PLATFORM_TRUSTED', 'ORG_TRUSTED', 'USER_TRUSTED', 'TOOL_TRUSTED')
        group by session_id, run_id
    ), calls as (
        select session_id, run_id, count(*) filter (step is not null) as steps,
            sum(input_tokens) filter (billed)::bigint as input_tokens,
            sum(cache_read_tokens) filter (billed)::bigint as cache_read_tokens,
            sum(output_tokens) filter (billed)::bigint as output_tokens
        from model_calls group by session_id, run_id
    ), models as (
        select session_id, run_id, list(model order by n desc, model) as models from (
            select session_id, run_id, model, count(*) as n from model_calls
            where step is not null and model is not null group by session_id, run_id, model)
        group by session_id, run_id
    ), tools as (
        select session_id, run_id, count(*) as tool_calls,
            count(*) filter (status in ('FAILED', 'TIMED_OUT')) as failed_tool_calls,
            count(*) filter (result_count = 0) as pending_tool_calls
        from tool_calls group by session_id, run_id
    )
    select s.session_id, s.run_id, r.task_id, r.title, r.repository, r.branch, r.working_directory, r.agent,
        r.agent_version, coalesce(o.parent_run_id, r.parent_run_id) as parent_run_id,
        coalesce(o.forked_at, r.forked_at) as forked_at, r.relation, r.source_format, r.source_file,
        coalesce(m.models, []) as models, s.started_at, s.finished_at,
        epoch_us(s.finished_at - s.started_at) / 1e6 as duration_s, s.messages, coalesce(c.steps, 0) as steps,
        coalesce(t.tool_calls, 0) as tool_calls, coalesce(t.failed_tool_calls, 0) as failed_tool_calls,
        coalesce(t.pending_tool_calls, 0) as pending_tool_calls, s.errors, s.unknown_records,
        coalesce(k.compactions, 0) as compactions, c.input_tokens, c.cache_read_tokens, c.output_tokens,
        j.outcome, a.task
    from spans s left join latest_runs r using (session_id, run_id) left join origins o using (session_id, run_id)
        left join calls c using (session_id, run_id)
        left join models m using (session_id, run_id) left join tools t using (session_id, run_id)
        left join asked a using (session_id, run_id) left join compacted k using (session_id, run_id)
        left join judged j using (session_id, run_id)
"""

SESSIONS: Final = """
    select session_id, count(*) as runs, any_value(agent order by started_at, run_id) as agent,
        any_value(repository order by started_at, run_id) filter (relation is null or relation = 'fork') as repository,
        any_value(branch order by started_at, run_id) filter (relation is null or relation = 'fork') as branch,
        min(started_at) as started_at, max(finished_at) as updated_at,
        if(session_id in (select session_id from open_runs), 'open', 'closed') as status,
        sum(messages)::bigint as messages, sum(steps)::bigint as steps,
        any_value(title order by started_at, run_id) as title,
        any_value(task order by started_at, run_id) filter (relation is null or relation = 'fork') as task
    from runs group by session_id
"""

# What a source recorded, and what was read from the output of shell calls. Where a source recorded a check of a call,
# what was read from the same call is marked: the check of that tool if the record names one, else all of the call.
# A verdict on the whole run is another statement than one of its checks, and supersedes none.
VERIFIER_RESULTS: Final = """
    with recorded as (
        select session_id, run_id, sequence_no, message_id, part_id, step, created_at, actor, status as verdict,
            'recorded' as source, coalesce(data->>'$.scope', data->>'$.check') as scope, data->>'$.check' as check_name,
            data->>'$.command' as command, tool_call_id, try_cast(data->>'$.counts.passed' as bigint) as passed,
            try_cast(data->>'$.counts.failed' as bigint) as failed,
            try_cast(data->>'$.counts.errors' as bigint) as errors,
            try_cast(data->>'$.counts.skipped' as bigint) as skipped,
            try_cast(data->'$.failing' as varchar[]) as failing,
            try_cast(data->>'$.exit_code' as bigint) as exit_code,
            evidence_refs, part_trust_level, part_visibility, text, data
        from current_history where kind = 'VERIFIER_RESULT' and part_type = 'verification'
    ), calls as (
        select session_id, run_id, sequence_no, message_id, lower(check_name) as check_name, tool_call_id, null as call
        from recorded where tool_call_id is not null and scope is distinct from 'run'
        union all by name
        select session_id, run_id, sequence_no, message_id, lower(check_name) as check_name,
            split_part(unnest(evidence_refs), '#', 1) as call
        from recorded where scope is distinct from 'run'
    ), parsed as (
        select d.*, split_part(evidence_refs[1], '#', 1) as call,
            list(lower(tool)) over (partition by session_id, run_id, tool_call_id) as tools
        from derived_parsed_checks d
    ), superseded as (
        select p.session_id, p.run_id, p.row, arg_min(c.message_id, c.sequence_no) as superseded_by
        from parsed p join calls c on p.session_id = c.session_id and p.run_id = c.run_id
            and (p.tool_call_id = c.tool_call_id or p.call = c.call)
        where c.check_name is null or c.check_name = lower(p.tool) or not list_contains(p.tools, c.check_name)
        group by all
    )
    select * exclude (check_name), message_id in (select message_id from copies) as is_copy from recorded
    union all by name
    select p.* exclude (state, row, part_index, call, call_visibility, tools), s.superseded_by, h.part_id, h.created_at,
        p.tool as actor, trim(p.tool || ' ' || p.targets) as scope, h.part_trust_level,
        ['MODEL_VISIBLE', 'REDACTED', 'HUMAN_VISIBLE', 'AUDIT_ONLY', 'INTERNAL_ONLY'][greatest(
            list_position(['MODEL_VISIBLE', 'REDACTED', 'HUMAN_VISIBLE', 'AUDIT_ONLY', 'INTERNAL_ONLY'],
                h.part_visibility),
            list_position(['MODEL_VISIBLE', 'REDACTED', 'HUMAN_VISIBLE', 'AUDIT_ONLY', 'INTERNAL_ONLY'],
                call_visibility))] as part_visibility, h.text,
        p.message_id in (select message_id from copies) as is_copy
    from parsed p join current_history h on p.session_id = h.session_id and p.run_id = h.run_id
            and p.message_id = h.message_id and p.part_index = h.part_index
        left join superseded s on p.session_id = s.session_id and p.run_id = s.run_id and p.row = s.row
    where h.erased is null
"""

FILE_CHANGES: Final = """
    select session_id, run_id, sequence_no, message_id, created_at, tool_name, tool_call_id, path, text as diff,
        (data->>'$.lines_added')::bigint as lines_added, (data->>'$.lines_removed')::bigint as lines_removed
    from current_history where part_type = 'diff'
"""

IMPORT_FILES: Final = """
    select * exclude (record_keys) from stored_imports
    qualify row_number() over (partition by path order by imported_at desc, cursor desc, import_id desc) = 1
"""

CHECKPOINTS: Final = """
    select checkpoint_id, created_at, tree_size, lower(hex(root)) as root, runs_size,
        lower(hex(runs_root)) as runs_root, previous
    from stored_checkpoints
"""

# A message that an import placed anew stands in several revisions; its placeholders are listed once.
REDACTIONS: Final = """
    select r.* replace (h.sequence_no as sequence_no) from stored_redactions r
        join current_history h on r.message_id = h.message_id and h.part_index = 0
            and r.session_id = h.session_id and r.run_id = h.run_id
    qualify row_number() over (
        partition by r.message_id, r.part_id, r.artifact, r.field, r.start order by r.import_id) = 1
"""

SNAPSHOTS: Final = "select * from stored_snapshots"

OVER_DERIVED: Final = frozenset({"verifier_results"})
"""Views that need a derived table."""

INTERNAL_VIEWS: Final[dict[str, str]] = {
    "current_history": CURRENT,
    "latest_runs": LATEST_RUNS,
}

PUBLIC_VIEWS: Final[dict[str, str]] = {
    "messages": MESSAGES,
    "parts": PARTS,
    "tool_calls": TOOL_CALLS,
    "usage_rows": USAGE_ROWS,
    "usage_explained": USAGE_EXPLAINED,
    "model_calls": MODEL_CALLS,
    "runs": RUNS,
    "sessions": SESSIONS,
    "verifier_results": VERIFIER_RESULTS,
    "file_changes": FILE_CHANGES,
    "import_files": IMPORT_FILES,
    "checkpoints": CHECKPOINTS,
    "redactions": REDACTIONS,
    "snapshots": SNAPSHOTS,
}
