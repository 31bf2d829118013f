"""Audits over all runs: injection markers, actions that untrusted text suggested, secrets that stand in the ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.safety.injection import AuditSummary
    from ledgerkit.safety.redaction import SecretRedactor

_PARTS: Final = "select * from parts where $runs is null or list_contains($runs, run_id)"
_SESSIONS: Final = 64
"""Sessions whose texts are in memory at once."""
_ALL_SESSIONS: Final = "select distinct session_id from current_history order by 1"
_TEXTS: Final = """
    with rows as (select * from current_history where list_contains($sessions, session_id)),
    fields as (
        select session_id, run_id, sequence_no, message_id, part_index, part_id, unnest([
            {'field': 'text', 'text': text}, {'field': 'data', 'text': data}, {'field': 'summary', 'text': summary},
            {'field': 'path', 'text': path}
        ], recursive := true), null::varchar as artifact from rows
        union all by name
        select session_id, run_id, sequence_no, message_id, part_index, null as part_id, 'metadata' as field,
            metadata as text, null as artifact from rows where part_index = 0
        union all by name
        select session_id, run_id, sequence_no, message_id, part_index, part_id, 'content' as field,
            try(decode(a.content)) as text, a.content_id as artifact
        from (select *, unnest(artifact_refs) as ref from rows) r join stored_artifacts a on a.content_id = r.ref
    )
    select * exclude part_index from fields where text is not null
    order by session_id, run_id, sequence_no, part_index, field, artifact
"""


class LedgerAudits:
    """Questions of a reviewer over all runs at once. Part of :class:`ledgerkit.Ledger`. None ever says *clean*."""

    _storage: Storage
    _redactor: SecretRedactor | None

    @property
    def redactor(self) -> SecretRedactor:
        """Takes secrets out of what is written; made with this user's key, unless one was set.

        Raises:
            ConfigurationError: If the user's key cannot be read or made.
        """
        if self._redactor is None:
            from ledgerkit.safety.redaction import standard_redactor

            self._redactor = standard_redactor()
        return self._redactor

    @redactor.setter
    def redactor(self, redactor: SecretRedactor) -> None:
        self._redactor = redactor

    def injection_markers(
        self, *, rules: Collection[str] | None = None, runs: str | Sequence[str] = (), everything: bool = False
    ) -> pl.DataFrame:
        """Markers of text that wants to steer an agent.

        Args:
            rules: Ids of the rules to apply (docs/injection-audit.md lists them); all if not given.
            runs: Ids of runs to look at; all if not given.
            everything: Apply every rule to every part, whatever its trust.

        Returns:
            One row a marker, with its rule, severity, place and an excerpt that is safe to show. No row means that no
            rule found anything, not that a run is clean.

        Raises:
            ValueError: If a rule is not known.
        """
        from ledgerkit.safety.injection import audit_injection

        return audit_injection(self._parts(runs), rules, everything=everything)

    def injection_summary(self, findings: pl.DataFrame, *, runs: str | Sequence[str] = ()) -> AuditSummary:
        """What an audit looked at, what it found by rule and severity, and what it cannot know.

        Args:
            findings: What :meth:`injection_markers` gave.
            runs: The runs that it was asked for.
        """
        from ledgerkit.safety.injection import audit_summary

        return audit_summary(findings, self._parts(runs))

    def tainted_actions(
        self, *, runs: str | Sequence[str] = (), tool_classes: Mapping[str, str] | None = None
    ) -> pl.DataFrame:
        """Tool calls with an argument that only untrusted text had named before.

        Args:
            runs: Ids of runs to look at; all if not given.
            tool_classes: Class of tools that ledgerkit does not know (``network``, ``exec``, ``write``, ``read``).

        Returns:
            One row a call and thing that it names, with its source, sink and severity (see docs/taint.md). No row
            means that no rule found anything, not that a run is clean.
        """
        from ledgerkit.safety.taint import find_tainted_actions

        folders = self._storage.database.frame("select session_id, run_id, working_directory from runs")
        return find_tainted_actions(self._parts(runs), tool_classes, runs=folders)

    def amplified_labels(self, *, runs: str | Sequence[str] = ()) -> pl.DataFrame:
        """Parts that are labelled as more trusted, or seen by more people, than what their evidence refers to.

        Args:
            runs: Ids of runs to look at; all if not given.

        Returns:
            One row a part, source and rule (``trust-amplified``, ``visibility-widened``).
        """
        from ledgerkit.safety.derived import find_amplified

        return find_amplified(self._parts(runs))

    def standing_secrets(self) -> pl.DataFrame:
        """Secrets that stand in the ledger: imported with ``redact="off"`` or ``"audit"``, or unknown to rules then.

        Returns:
            One row a place: message, part, field or artifact, type, fingerprint, rule and characters. The values are
            in no column. ``erase`` takes the message ids.
        """
        from ledgerkit.safety.redaction.standing import SECRET_SCHEMA, standing_secrets

        frames = [standing_secrets(texts, self.redactor) for texts in self._texts()]
        return pl.concat(frames) if frames else pl.DataFrame(schema=SECRET_SCHEMA)

    def _parts(self, runs: str | Sequence[str]) -> pl.DataFrame:
        wanted = [runs] if isinstance(runs, str) else list(runs)
        return self._storage.database.frame(_PARTS, {"runs": wanted or None})

    def _texts(self) -> Iterator[pl.DataFrame]:
        sessions = self._storage.database.frame(_ALL_SESSIONS)["session_id"].to_list()
        for first in range(0, len(sessions), _SESSIONS):
            yield self._storage.database.frame(_TEXTS, {"sessions": sessions[first : first + _SESSIONS]})
