"""Full-text search over parts: plain substrings, whatever their case, artifacts included."""

from __future__ import annotations

import json
from typing import Final

import polars as pl

from ledgerkit.protocol.vocabulary import ArtifactLabel, Audience, Visibility
from ledgerkit.store.database import Database

AROUND: Final = 80

# JSON text writes quotes, newlines and backslashes as escapes, so it is searched for the escaped form.
_SEARCH: Final = """
    with hits as (
        select p.*, text as found_in, lower($text) as sought from parts p where contains(lower(text), lower($text))
        union all by name
        select p.*, data as found_in, lower($escaped) as sought from parts p
        where contains(lower(data), lower($escaped)) and not coalesce(contains(lower(text), lower($text)), false)
        union all by name
        select p.* exclude (ref), content as found_in, sought
        from (select *, unnest(artifact_refs) as ref from parts) p join (
            select content_id as kept_id, try(decode(content)) as content,
                if(media_type = 'application/json', lower($escaped), lower($text)) as sought
            from stored_artifacts
            where (media_type like 'text/%' or media_type = 'application/json') and list_contains($labels, label)
        ) on kept_id = ref
        where contains(lower(content), sought) and not coalesce(contains(lower(text), lower($text)), false)
            and not coalesce(contains(lower(data), lower($escaped)), false)
        qualify row_number() over (partition by part_id order by ref) = 1
    )
    select run_id, sequence_no, part_index, message_id, kind, tool_name, path, part_trust_level, created_at,
        substr(found_in, greatest(1, strpos(lower(found_in), sought) - $around), length(sought) + 2 * $around)
            as excerpt
    from hits
    where list_contains($visible, part_visibility) and ($kind is null or kind = $kind)
    order by created_at desc nulls last, run_id, sequence_no, part_index limit $limit
"""


def search_parts(
    database: Database, text: str, *, kind: str | None, limit: int | None, audience: Audience
) -> pl.DataFrame:
    """Parts that hold a text. See :meth:`ledgerkit.Ledger.search`."""
    visible = [level.value for level in Visibility if audience.may_see(level)]
    labels = [label.value for label in ArtifactLabel if label.is_projectable or audience is Audience.AUDIT]
    return database.frame(
        _SEARCH,
        {
            "text": text,
            "escaped": json.dumps(text, ensure_ascii=False)[1:-1],
            "kind": kind,
            "limit": limit,
            "visible": visible,
            "labels": labels,
            "around": AROUND,
        },
    )
