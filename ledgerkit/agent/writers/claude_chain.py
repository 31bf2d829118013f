"""The lines of a Claude Code log: their envelope, and the chain of parents that links them.

The rule: every line with an id follows the one before it, unless a caller says which line it follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ledgerkit.agent.clock import SeededIds
from ledgerkit.agent.outcomes import ChangeFields
from ledgerkit.agent.record import RunRecord

Line = dict[str, object]


@dataclass(slots=True)
class Chain:
    """What the lines of one file have in common.

    Attributes:
        session_id: The session, the parent's also in a subagent's file.
        record: The run.
        version: Version of the program.
        slug: The session's name in words.
        ids: Where uuids come from.
        agent_id: The subagent, in its file.
        parent: Id of the line that the next one follows.
    """

    session_id: str
    record: RunRecord
    version: str
    slug: str
    ids: SeededIds
    agent_id: str | None = None
    parent: str | None = None
    _first: str | None = None
    _backups: dict[str, Line] = field(default_factory=dict[str, Line])

    def side(self, agent_id: str) -> Chain:
        """The chain of a file beside this one, for a subagent of the program's own."""
        return Chain(self.session_id, self.record, self.version, self.slug, self.ids, agent_id, self.parent)

    def line(self, kind: str, at: datetime, body: Line) -> Line:
        """The next line of a kind."""
        return self.chained(self.loose(kind, at, body))

    def loose(self, kind: str, at: datetime, body: Line) -> Line:
        """A line that is put into the chain later."""
        return self._envelope() | {"type": kind} | body | {"uuid": self.ids.uuid4(), "timestamp": iso(at)}

    def chained(self, line: Line) -> Line:
        """Put a line at the end of the chain."""
        line["parentUuid"] = self.parent
        self.parent = str(line["uuid"])
        return line

    def queue(self, operation: str, at: datetime, content: str | None = None) -> Line:
        """A prompt that joins or leaves the queue."""
        line: Line = {"type": "queue-operation", "operation": operation, "timestamp": iso(at)}
        line["sessionId"] = self.session_id
        return line if content is None else line | {"content": content}

    def snapshot(self, message_id: str, at: datetime, *, is_update: bool = False) -> Line:
        """The state of the files that can be rewound."""
        self._first = self._first or message_id
        snapshot: Line = {"messageId": self._first, "trackedFileBackups": dict(self._backups), "timestamp": iso(at)}
        head: Line = {"type": "file-history-snapshot", "messageId": message_id, "snapshot": snapshot}
        return head | {"isSnapshotUpdate": is_update}

    def backup(self, fields: ChangeFields, message_id: str, at: datetime) -> Line:
        """The snapshot after a file was changed."""
        path = fields.path.removeprefix(f"{self.record.working_directory}/")
        version = int(str(self._backups.get(path, {}).get("version", 0))) + 1
        name = None if fields.before is None else f"{self.ids.hex(16)}@v{version}"
        self._backups[path] = {"backupFileName": name, "version": version, "backupTime": iso(at)}
        return self.snapshot(message_id, at, is_update=True)

    def _envelope(self) -> Line:
        line: Line = {
            "parentUuid": self.parent,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": self.record.working_directory,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.record.branch,
        }
        return line | ({"slug": self.slug} if self.agent_id is None else {"agentId": self.agent_id, "slug": self.slug})


def iso(at: datetime) -> str:
    """A time as the program writes it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
