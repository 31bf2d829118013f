"""Which run each record of a session belongs to, in which place, at which step.

A run is linear. Where a session branches (the user rewound and asked again, an answer was asked for anew), the first
branch goes on in its run and every other one is a run of its own. Subagents are runs of their own. The result is a
function of the set of records and their order alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ledgerkit.importers.drafts import Node
from ledgerkit.ingest.shapes import Item, Place, RunShape, facts_of
from ledgerkit.protocol.vocabulary import RunRelation

MAIN_RUN = ""


def without_replaced_copies(items: Iterable[Item]) -> list[Item]:
    """Leaves out copies of which there is a better one: a line of its own, in a file that holds what it refers to."""
    listed = list(items)
    best: dict[str, tuple[bool, bool]] = {}
    for item in listed:
        if item.native_id:
            rank = (item.embedded, item.provisional)
            best[item.native_id] = min(rank, best.get(item.native_id, rank))
    return [item for item in listed if not item.native_id or (item.embedded, item.provisional) == best[item.native_id]]


def assemble(items: Iterable[Item]) -> list[RunShape]:
    """Shapes the runs of one session.

    Args:
        items: Its records, in order, embedded copies that are replaced left out.

    Returns:
        The runs that hold records, the main one first, then in order of their first record.
    """
    shaping = _Shaping()
    for item in items:
        shaping.take(item)
    shaping.link_subagents()
    runs = [run for run in shaping.runs.values() if run.items]
    for run in runs:
        _number(run, shaping)
    return runs


class _Shaping:
    """What is known of a session while its records are placed one by one."""

    def __init__(self) -> None:
        self.runs: dict[str, RunShape] = {MAIN_RUN: RunShape(MAIN_RUN, None)}
        self.item_of: dict[str, Item] = {}
        self.run_of: dict[str, str] = {}
        self._call_run: dict[str, str] = {}
        self._asked_in: dict[str, str] = {}
        self._asker: dict[str, Item] = {}
        self._active: dict[str, list[Item]] = {}
        self._place_of: dict[int, int] = {}
        self._links: dict[str, str] = {}
        self._tip = MAIN_RUN
        self._last = MAIN_RUN

    def take(self, item: Item) -> None:
        run_key = self._place(item)
        self._place_of[item.key] = len(self.runs[run_key].items)
        self.runs[run_key].items.append(item)
        if item.node in (Node.PROMPT, Node.CALL):
            self._active.setdefault(run_key, []).append(item)
        self._last = run_key
        if self._is_main_line(run_key):
            self._tip = run_key
        if item.native_id and item.native_id not in self.item_of:
            self.item_of[item.native_id], self.run_of[item.native_id] = item, run_key
        if item.call_id:
            self._call_run.setdefault(item.call_id, run_key)
        for call in item.asked:
            self._asked_in.setdefault(call, run_key)
            self._asker.setdefault(call, item)
        for link in item.links:
            self._links.setdefault(link.run_key, link.tool_call_id)

    def _is_main_line(self, run_key: str) -> bool:
        relation = self.runs[run_key].relation
        return relation is None or relation is RunRelation.REWIND

    def _place(self, item: Item) -> str:
        if item.run_key:
            return self._open(item.run_key, item.relation)
        if item.relation is not None:
            return self._inline_subagent(item)
        if item.run_key is None:
            return self._last if self._is_main_line(self._last) else self._tip
        if item.node is Node.RESULT:
            asked = next((self._asked_in[call] for call in item.answered if call in self._asked_in), None)
            return asked if asked is not None else self._run_of_parent(item)
        if item.node is Node.PASSIVE:
            return self._run_of_parent(item)
        return self._branch(item)

    def _open(self, run_key: str, relation: RunRelation | None) -> str:
        self.runs.setdefault(run_key, RunShape(run_key, relation))
        return run_key

    def _inline_subagent(self, item: Item) -> str:
        """A sidechain record without an agent's id: it belongs where its parent does, or begins a run."""
        parent_run = self.run_of.get(item.parent or "")
        if parent_run is not None and not self._is_main_line(parent_run):
            return parent_run
        return self._open(f"sidechain:{item.native_id or item.key}", RunRelation.SUBAGENT)

    def _run_of_parent(self, item: Item) -> str:
        run_key = self.run_of.get(item.parent or "", self._tip)
        return run_key if self._is_main_line(run_key) else self._tip

    def _branch(self, item: Item) -> str:
        """The run of a prompt or call: its parent's, unless that run has gone on without it."""
        if item.call_id and item.call_id in self._call_run:
            return self._call_run[item.call_id]
        run_key = self._run_of_parent(item)
        parent = self.item_of.get(item.parent or "")
        if parent is None or not self._went_on(run_key, parent):
            return run_key
        forked = RunShape(f"rewind:{_branch_of(item)}", RunRelation.REWIND, run_key, self._last_message(item.parent))
        self.runs.setdefault(forked.run_key, forked)
        return forked.run_key

    def _went_on(self, run_key: str, parent: Item) -> bool:
        """Whether a prompt or another model call follows a record in its run.

        Blocks of one call and results of parallel calls follow each other in any order; they are no branches.
        """
        for active in reversed(self._active.get(run_key, [])):
            if self._place_of[active.key] <= self._place_of[parent.key]:
                return False
            if _branch_of(active) != _branch_of(parent):
                return True
        return False

    def _last_message(self, native_id: str | None) -> str | None:
        item = self.item_of.get(native_id or "")
        return item.message_ids[-1] if item and item.message_ids else None

    def link_subagents(self) -> None:
        """Hangs each subagent on the call that started it, where a record says which."""
        for run in self.runs.values():
            facts = facts_of(run)
            if facts.parent_run:
                run.parent_run_key, run.forked_at = facts.parent_run, facts.forked_at
                continue
            if run.relation is None or run.relation is RunRelation.REWIND:
                continue
            call = self._links.get(run.run_key)
            asker = self._asker.get(call) if call else None
            run.parent_run_key = self._asked_in[call] if call and asker else MAIN_RUN
            run.forked_at = asker.message_ids[-1] if asker and asker.message_ids else None
            if not self.runs[MAIN_RUN].items and asker is None:
                run.parent_run_key = None


def _branch_of(item: Item) -> str:
    """What a prompt or call is known by: all blocks of one model call share it."""
    return item.call_id or item.native_id or str(item.key)


def _number(run: RunShape, shaping: _Shaping) -> None:
    """Steps of a run: one for each model call, in the order in which they began."""
    steps: dict[str, int] = {}
    asked: dict[str, int] = {}
    for item in run.items:
        if item.is_model_call:
            step = steps.setdefault(item.call_id or f"record:{item.key}", len(steps))
            asked |= dict.fromkeys(item.asked, step)
        elif item.node is Node.RESULT:
            step = next((asked[call] for call in item.answered if call in asked), max(len(steps) - 1, 0))
        else:
            step = len(steps)
        parent = shaping.item_of.get(item.parent or "")
        previous = parent.message_ids[-1] if parent and parent.message_ids else None
        step = item.step if item.step is not None else step
        visible_from = item.visible_from if item.visible_from is not None else len(steps)
        for message_id in item.message_ids:
            run.places.append(Place(message_id, step, visible_from, previous))
            previous = message_id
