"""Choosing sets of runs of a ledger, and opening the ones that a manifest names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit.errors import QueryError, UnknownNameError
from ledgerkit.protocol.moments import Moment, read_moment
from ledgerkit.run_sets import LABELS, RunSet, RunSource, with_given_tasks
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.safety.redaction import SecretRedactor
    from ledgerkit.store.integrity.checkpoints import Checkpoint
    from ledgerkit.store.sealing import Sealing

Names = str | Sequence[str]
_RUNS: Final = """
    select session_id, run_id, task_id, repository, branch, agent, agent_version, relation, models, started_at from runs
    order by run_id, session_id
"""
_NOT_CHOSEN: Final = ("subagent", "review")
"""How runs came from others that are part of them, or about them."""


class LedgerSelections:
    """Run sets. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def path(self) -> Path: ...  # noqa: D102
        @property
        def redactor(self) -> SecretRedactor: ...  # noqa: D102
        def runs(self) -> pl.DataFrame: ...  # noqa: D102
        def annotations(  # noqa: D102
            self, *, runs: Collection[str] | None = None, by: str | None = None
        ) -> pl.DataFrame: ...
        def check_claims(self, *, runs: str | Sequence[str] = ()) -> pl.DataFrame: ...  # noqa: D102
        def injection_markers(  # noqa: D102
            self, *, rules: Collection[str] | None = None, runs: str | Sequence[str] = (), everything: bool = False
        ) -> pl.DataFrame: ...
        def sql(  # noqa: D102
            self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
        ) -> pl.DataFrame: ...
        @property
        def _writable(self) -> Storage: ...
        def checkpoint(self) -> Checkpoint: ...  # noqa: D102
        def _sealing(self) -> Sealing: ...

    def where(  # noqa: PLR0913 - keyword arguments, each of its own matter
        self,
        *,
        label: Names | None = None,
        model: Names | None = None,
        agent: Names | None = None,
        agent_version: Names | None = None,
        repository: Names | None = None,
        branch: Names | None = None,
        task: Names | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        runs: Names | None = None,
        sql: str | None = None,
    ) -> RunSet:
        """The runs for which all of some conditions hold; several values of one condition mean any of them.

        Subagents are never chosen by themselves: what they did belongs to the run that started them. Nor are reviews.

        Args:
            label: A label or tag that somebody gave the run (:meth:`import_labels`, :meth:`annotate`): its name, its
                value, or ``name=value``.
            model: A model that answered in it; without the date in its name, of any date; ``claude-`` may be left out.
            agent: The agent program.
            agent_version: Its version.
            repository: The repository.
            branch: The branch.
            task: The task's id, recorded or given by a label ``task_id``.
            since: It began at this moment or later; a day means its beginning (UTC). Runs without a time are out.
            until: It began before this moment.
            runs: Ids of runs.
            sql: A query with a column ``run_id``.

        Raises:
            UnknownNameError: If a run of ``runs`` is not there.
            QueryError: If ``sql`` is no such query, or a moment is none.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.where(label="before", model="claude-opus-4-5")
            RunSet('label=before, model=claude-opus-4-5', 0 runs)
        """
        given = {
            "label": label, "model": model, "agent": agent, "agent_version": agent_version, "repository": repository,
            "branch": branch, "task": task, "since": since, "until": until, "runs": runs, "sql": sql,
        }  # fmt: skip
        selection = {name: _plain(value) for name, value in given.items() if value is not None}
        found = self._chosen()
        for name, value in selection.items():
            found = self._filtered(found, name, value)
        said = ", ".join(f"{name}={'|'.join(v) if isinstance(v, list) else v}" for name, v in selection.items())
        return RunSet(said or "all runs", tuple(found["run_id"].unique().sort()), selection, self._run_source())

    def _chosen(self) -> pl.DataFrame:
        """All runs that can be chosen, with the tasks that are recorded."""
        runs = self._storage.database.kept(_RUNS)
        return runs.filter(~pl.col("relation").is_in(_NOT_CHOSEN).fill_null(value=False))

    def _with_tasks(self, runs: pl.DataFrame) -> pl.DataFrame:
        return with_given_tasks(runs, self._storage.database.frame(LABELS))

    def _known(self, name: str) -> list[str]:
        """Values of a condition that some run has."""
        if name == "label":
            labels = pl.concat([self._storage.database.frame(LABELS), self._annotated()])
            return sorted({*labels["name"], *labels["value"].drop_nulls()})
        column = {"task": "task_id", "model": "models"}.get(name, name)
        values = (self._with_tasks(self._chosen()) if name == "task" else self._chosen()).get_column(column)
        return (values.explode() if name == "model" else values).drop_nulls().unique().sort().to_list()

    def _filtered(self, found: pl.DataFrame, name: str, value: str | list[str]) -> pl.DataFrame:
        wanted = value if isinstance(value, list) else [value]
        if name == "label":
            return found.join(self._labelled(wanted), on=["session_id", "run_id"], how="semi")
        if name == "model":
            named = "|".join(re.escape(one) for one in wanted)
            fits = pl.element().str.contains(rf"^(claude-)?({named})(-\d{{8}}|-\d{{4}}-\d{{2}}-\d{{2}})?$")
            return found.filter(pl.col("models").list.eval(fits).list.any())
        if name in ("since", "until", "sql") and len(wanted) != 1:
            raise QueryError(f"{name} is one, not {len(wanted)}: {', '.join(wanted)}. Unite two sets with | instead.")
        if name in ("since", "until"):
            moment = pl.lit(read_moment(wanted[0], name))
            return found.filter(pl.col("started_at") >= moment if name == "since" else pl.col("started_at") < moment)
        if name == "sql":
            return found.filter(pl.col("run_id").is_in(self._runs_of_query(wanted[0]).implode()))
        if name == "runs" and (missing := sorted(set(wanted) - set(found["run_id"]))):
            raise UnknownNameError(
                f"No run {missing[0]!r} that is no subagent. List runs with: ledgerkit runs", name=missing[0]
            )
        if name == "task":
            return self._with_tasks(found).filter(pl.col("task_id").is_in(wanted))
        return found.filter(pl.col({"runs": "run_id"}.get(name, name)).is_in(wanted))

    def _runs_of_query(self, query: str) -> pl.Series:
        answer = self.sql(query)
        if "run_id" not in answer.columns:
            raise QueryError(f"The query gives {', '.join(answer.columns)}. A column run_id is needed.")
        return answer["run_id"].drop_nulls()

    def _labelled(self, wanted: list[str]) -> pl.DataFrame:
        labels = pl.concat([self._storage.database.frame(LABELS), self._annotated()])
        pair = pl.col("name") + "=" + pl.col("value")
        off = pl.col("value").str.to_lowercase().is_in(["false", "0", "no", ""])
        named = pl.col("name").is_in(wanted) & ~off
        return labels.filter(pair.is_in(wanted) | named | pl.col("value").is_in(wanted))

    def _annotated(self) -> pl.DataFrame:
        """What people said of whole runs, as labels: their label under the name ``label``, and each tag."""
        said = self.annotations().filter("is_current", pl.col("kind") == "run")
        keys = ("session_id", "run_id")
        tags = said.select(*keys, name="tags").explode("name", empty_as_null=True).drop_nulls("name")
        labels = said.drop_nulls("label").select(*keys, name=pl.lit("label"), value="label")
        return pl.concat([labels, tags.with_columns(value=pl.lit("true"))])

    def run_set(self, manifest: Mapping[str, Any] | str | Path) -> RunSet:
        """Exactly the runs of a manifest, as they were when it was made.

        Args:
            manifest: What :meth:`RunSet.manifest` gave, or a file that holds it as JSON.

        Raises:
            ComparisonError: If it is no manifest, is of another ledger, or a run is no longer what it was.
        """
        from ledgerkit.pinning import check_manifest, read_manifest

        given = read_manifest(manifest)
        ids = check_manifest(self._storage, given)
        return RunSet(given["name"], ids, given["selection"], self._run_source())

    def _run_source(self) -> RunSource:
        def rows(ids: tuple[str, ...]) -> pl.DataFrame:
            return self.runs().filter(pl.col("run_id").is_in(list(ids)))

        from ledgerkit.observing import Observer

        observer = Observer(
            self._storage.database.frame,
            self.runs,
            lambda ids: self.check_claims(runs=ids),
            lambda ids: self.injection_markers(runs=ids),
        )
        return RunSource(
            str(self.path), rows, observer.observe, self._known, self._pin, self._clock, lambda: self.redactor
        )

    def _pin(self, ids: tuple[str, ...]) -> dict[str, Any]:
        from ledgerkit.pinning import pin
        from ledgerkit.store.sealing import seal_journals

        def seal(sessions: list[str]) -> None:
            seal_journals(self._writable, self._sealing(), now=self._clock(), sessions=sessions)

        return pin(self._storage, ids, seal=seal, checkpoint=self.checkpoint)


def _plain(value: Names | Moment) -> str | list[str]:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, str) else list(value)
