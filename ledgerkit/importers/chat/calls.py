"""Tool calls of one conversation, and which result answers which call.

Some services number calls anew in each turn, and some rows have no ids at all. A call's id in the ledger is unique in
its run: the second call of an id gets ``~2``, and so on; a call without an id is numbered. A result answers the oldest
open call of its id; one without an id answers the calls of the answer before it, in their order.
"""

from __future__ import annotations

from collections import defaultdict, deque


class Calls:
    """The calls so far."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._open: dict[str, deque[str]] = defaultdict(deque)
        self._last: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._arguments: dict[str, object] = {}
        self._unnamed: deque[str] = deque()
        self._numbered = 0

    def begin_answer(self) -> None:
        """An answer of the model begins: calls without an id before it are no longer what a result can mean."""
        self._unnamed.clear()

    def ask(self, native: str | None, name: str | None, arguments: object) -> str:
        """The ledger's id of a call."""
        if native is None:
            self._numbered += 1
            call_id = f"call:{self._numbered}"
            self._unnamed.append(call_id)
        else:
            uses = self._uses[native] = self._uses.get(native, 0) + 1
            call_id = native if uses == 1 else f"{native}~{uses}"
            self._open[native].append(call_id)
            self._last[native] = call_id
        if name:
            self._names[call_id] = name
        self._arguments[call_id] = arguments
        return call_id

    def answer(self, native: str | None) -> str | None:
        """The call that a result answers: the result's own id where no call has it, ``None`` where nothing tells."""
        if native is None:
            return self._unnamed.popleft() if self._unnamed else None
        waiting = self._open[native]
        return waiting.popleft() if waiting else self._last.get(native, native)

    def arguments_of(self, call_id: str | None) -> object:
        """What a call asks."""
        return self._arguments.get(call_id or "")

    def name_of(self, call_id: str | None) -> str | None:
        """The tool that a call names."""
        return self._names.get(call_id or "")
