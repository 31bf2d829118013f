"""Full-text search over parts: plain substrings, whatever their case, artifacts included."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.protocol.vocabulary import Audience, Visibility
from ledgerkit.store.database import Database

AROUND: Final = 80

_SEARCH: Final = """
    with hits as (
        select p.*, text as found_in from parts p where text is not null and contains(lower(text), $needle)
        union all by name
        select p.*, data as found_in from parts p where contains(lower(data), $needle)
            and not coalesce(contains(lower(text), $needle), false)
        union all by name
        select p.*, decode(a.content) as found_in from parts p
            join stored_artifacts a on a.content_id = p.content_id and (a.media_type like 'text/%'
                or a.media_type = 'application/json')
        where a.byte_count > 65536 and list_contains(p.artifact_refs, a.content_id)
            and contains(lower(decode(a.content)), $needle)
            and not coalesce(contains(lower(text), $needle), false)
            and not coalesce(contains(lower(data), $needle), false)
    )
    select run_id, sequence_no, part_index, message_id, kind, tool_name, path, part_trust_level, created_at,
        substr(found_in, greatest(1, strpos(lower(found_in), $needle) - $around), length($needle) + 2 * $around)
            as excerpt
    from hits
    where list_contains($visible, part_visibility) and ($kind is null or kind = $kind)
    order by created_at desc nulls last, run_id, sequence_no, part_index limit $limit
"""


def search_parts(database: Database, text: str, *, kind: str | None, limit: int, audience: Audience) -> pl.DataFrame:
    """Parts that hold a text. See :meth:`ledgerkit.Ledger.search`."""
    visible = [level.value for level in Visibility if audience.may_see(level)]
    return database.frame(
        _SEARCH,
        {"needle": text.lower(), "kind": kind, "limit": limit, "visible": visible, "around": AROUND},
    )
