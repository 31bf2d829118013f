"""Runs by what people call them.

One rule: a name that fits more than one run is refused with those that it fits, never guessed.
"""

from __future__ import annotations

import difflib
from typing import Final

import polars as pl

from ledgerkit import errors
from ledgerkit.store.database import Database

_SHORTEST_PREFIX: Final = 4
_SHOWN: Final = 8
"""Characters at the end of an id that tables show, and that one may begin to type."""
_THERE: Final = """
    select h.session_id, h.run_id, relation from current_history h left join latest_runs r
        on h.session_id = r.session_id and h.run_id = r.run_id
    where h.sequence_no = 0 and h.part_index = 0 order by all
"""


def resolve_run(database: Database, given: str) -> tuple[str, str]:
    """Session and run of a name: an id of either (of a session its main run), or the beginning or end of one.

    Raises:
        UnknownNameError: If no run or more than one fits.
    """
    there, ids = database.kept(_THERE), pl.col("session_id", "run_id")
    found = there.filter(pl.any_horizontal(ids == given))
    if not found.height and len(given) >= _SHORTEST_PREFIX:
        lower, some = ids.str.to_lowercase(), given.lower()
        shown = lower.str.tail(_SHOWN)
        fits = (lower.str.starts_with(some), lower.str.ends_with(some), shown.str.starts_with(some))
        found = there.filter(pl.any_horizontal(*fits))
    main = found.filter(pl.col("relation").is_null())
    if found.height == 1 or (main.height == 1 and found["session_id"].n_unique() == 1):
        session, run, _ = (found if found.height == 1 else main).row(0)
        return session, run
    if found.height == 0:
        near = difflib.get_close_matches(given.lower(), there["run_id"].str.tail(_SHOWN).unique().sort().to_list())
        maybe = f" Did you mean {' or '.join(near)}?" if near else ""
        raise errors.UnknownNameError(
            f"No run or session {given!r}.{maybe} List them with: ledgerkit runs", name=given, available=near
        )
    ids = found["run_id"].sort().to_list()
    raise errors.UnknownNameError(
        f"{given!r} fits {found.height} runs: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}. Give more of the id.",
        name=given,
        available=ids,
    )
