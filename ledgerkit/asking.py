"""What stands in a ledger, as it stands: messages, artifacts, views, SQL, text.

One rule: nothing is computed here but what a list of runs costs; answers are rows of the views.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost, errors, tables
from ledgerkit.protocol.vocabulary import ArtifactLabel, Audience, MessageKind
from ledgerkit.search import search_parts
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.protocol.messages import AgentMessage, MessageRange
    from ledgerkit.protocol.moments import Moment

# Of checks that ran at once, the worst counts. A recorded verdict that says nothing is no check (a hook, often).
_LAST_CHECKS: Final = """
    select session_id, run_id, arg_max(verdict, (sequence_no, list_position(['passed', 'inconclusive', 'failed'],
        verdict))) as last_check
    from verifier_results
    where scope is distinct from 'run' and superseded_by is null and (source = 'parsed' or verdict <> 'inconclusive')
    group by session_id, run_id
"""


class LedgerAsking:
    """Messages, views and runs. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    if TYPE_CHECKING:  # what the ledger itself brings

        def calls(  # noqa: D102
            self,
            *,
            runs: Collection[str] | None = None,
            since: Moment | None = None,
            until: Moment | None = None,
            priced_as: str | None = None,
        ) -> pl.DataFrame: ...

    def list_messages(
        self, session_id: str, run_id: str, message_range: MessageRange | None = None
    ) -> list[AgentMessage]:
        """Messages of a run in order, all of them or a range by sequence number.

        Raises:
            UnknownNameError: If there is no such run.
        """
        from ledgerkit.store import reading

        return reading.list_messages(self._storage.database, session_id, run_id, message_range)

    def find_by_id(self, message_id: str) -> AgentMessage | None:
        """A message by its id; ``None`` if there is none."""
        from ledgerkit.store import reading

        return reading.find_by_id(self._storage.database, message_id)

    def artifact(self, content_id: str) -> tuple[bytes, str, ArtifactLabel]:
        """Content, media type and label of an artifact.

        Raises:
            UnknownNameError: If there is none of that id.
        """
        from ledgerkit.store.contents import read_artifact

        found = read_artifact(self._storage.database, content_id.removeprefix("artifact:"))
        if found is None:
            raise errors.UnknownNameError(f"No artifact {content_id!r}.", name=content_id)
        return found

    def sql(self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """Runs one SQL query (DuckDB) over the views; :meth:`describe` lists them.

        Raises:
            QueryError: If it is no query, or fails.
            UnknownNameError: If it names a table or column that is not there.
        """
        return self._storage.database.query(query, parameters)

    def scan(self, name: str) -> pl.LazyFrame:
        """A view as a lazy Polars frame.

        Raises:
            UnknownNameError: If there is no such view.
        """
        return self._storage.database.scan(name)

    def search(
        self,
        text: str,
        *,
        kind: MessageKind | str | None = None,
        limit: int | None = 100,
        audience: Audience = Audience.PEOPLE,
    ) -> pl.DataFrame:
        """Parts that hold a text, whatever its case; also where an artifact holds the whole of a part.

        Args:
            text: What to look for.
            kind: Only messages of this kind.
            limit: Rows at most; all of them if ``None``.
            audience: Whose eyes: parts that this audience may not see are left out.

        Returns:
            One row a part: ``run_id, sequence_no, part_index, message_id, kind, tool_name, path, part_trust_level,
            created_at, excerpt`` (the place and what stands around it).
        """
        wanted = None if kind is None else MessageKind(kind).value
        return search_parts(self._storage.database, text, kind=wanted, limit=limit, audience=audience)

    def runs(self) -> pl.DataFrame:
        """The ``runs`` view with each run's ``cost``, ``unpriced_calls`` and ``last_check``, latest first.

        ``last_check`` is the verdict of the last test, build, lint or type check that the run made, recorded or read
        from what it printed (view ``verifier_results``); null where there was none.
        """
        runs = self._storage.database.frame("select * from runs")
        keys = ["session_id", "run_id"]
        by_run = cost.group_costs(self.calls(), keys).select(*keys, "cost", "unpriced_calls")
        checks = self._storage.database.frame(_LAST_CHECKS)
        runs = runs.join(by_run, on=keys, how="left").join(checks, on=keys, how="left")
        return runs.sort("started_at", "run_id", descending=True, nulls_last=True)

    def describe(self, name: str | None = None) -> pl.DataFrame:
        """The views (``name``, ``one_row_is``), or the columns of one (``column``, ``type``, ``doc``).

        Raises:
            UnknownNameError: If there is no such view.
        """
        if name is None:
            return pl.DataFrame(
                {"name": list(tables.VIEWS), "one_row_is": [v.one_row_is for v in tables.VIEWS.values()]}
            )
        if name not in tables.VIEWS:
            raise errors.UnknownNameError.among("table", name, tables.VIEWS)
        columns = tables.VIEWS[name].columns
        return pl.DataFrame(
            {
                "column": [c.name for c in columns],
                "type": [str(c.type) for c in columns],
                "doc": [c.doc for c in columns],
            }
        )
