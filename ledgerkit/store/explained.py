"""Why a usage record counts or does not, as SQL: the explain table of usage.

Every record of usage that a source wrote is one row, those too that were never a call's: a token count that repeats the
one before it, an answer that an evaluation took from its own cache. Each that does not count says which one does.
"""

from __future__ import annotations

from typing import Final

_FIGURES: Final = (
    "input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens"
)
_CACHED: Final = "(metadata->'$.cached_usage')"
_LAST: Final = "(data->'$.last')"

USAGE_EXPLAINED: Final = f"""
    with counted as (
        select *, any_value({{'message_id': message_id, 'run_id': run_id, 'source_file': source_file,
            'source_line': source_line}}) filter (billed) over (partition by call_id) as c
        from usage_rows
    ), calls as (
        select u.session_id, u.run_id, u.sequence_no, u.message_id, u.created_at, call_id, model, provider,
            service_tier, {_FIGURES}, reported_cost, billed,
            case when billed then null
                when billed_reason like 'synthetic%' then 'synthetic'
                when billed_reason like 'converted%' then 'converted copy'
                when billed_reason like 'earlier%' then 'earlier snapshot'
                when r.relation = 'fork' then 'replay' else 'copy' end as reason,
            c.message_id as counts_message_id, c.run_id as counts_run_id, c.source_file as counts_source_file,
            c.source_line as counts_source_line, u.source_file, u.source_line
        from counted u left join latest_runs r on r.session_id = u.session_id and r.run_id = u.run_id
    ), notes as (
        select *, {_LAST} as last, last_value(if(input_tokens is null, null,
            {{'message_id': message_id, 'source_file': source_file, 'source_line': source_line}}) ignore nulls) over (
                partition by session_id, run_id order by sequence_no rows between unbounded preceding and 1 preceding
            ) as before
        from current_history
        where kind = 'RUN_SUMMARY' and part_type = 'json' and part_index = 0 and (data->>'$.note') = 'token_count'
    ), repeated as (
        select session_id, run_id, sequence_no, message_id, created_at,
            try_cast(last->>'$.input_tokens' as bigint) as input_tokens,
            try_cast(last->>'$.cached_input_tokens' as bigint) as cache_read_tokens,
            try_cast(last->>'$.output_tokens' as bigint) as output_tokens,
            try_cast(last->>'$.reasoning_output_tokens' as bigint) as reasoning_tokens,
            'repeated count' as reason, before.message_id as counts_message_id,
            if(before is null, null, run_id) as counts_run_id, before.source_file as counts_source_file,
            before.source_line as counts_source_line, source_file, source_line
        from notes where input_tokens is null and last is not null
    ), cached as (
        select session_id, run_id, sequence_no, message_id, created_at, call_id, model, provider,
            try_cast({_CACHED}->>'$.input_tokens' as bigint) as input_tokens,
            try_cast({_CACHED}->>'$.input_tokens_cache_read' as bigint) as cache_read_tokens,
            try_cast({_CACHED}->>'$.output_tokens' as bigint) as output_tokens,
            try_cast({_CACHED}->>'$.reasoning_tokens' as bigint) as reasoning_tokens,
            'cached evaluation' as reason, source_file, source_line
        from current_history
        where part_index = 0 and contains(metadata, '"cached_usage"') and {_CACHED} is not null
    )
    select * from calls union all by name select *, false as billed from repeated
    union all by name select *, false as billed from cached
"""  # noqa: S608
