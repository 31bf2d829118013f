"""Replay: a run step by step, out of its rows."""

from __future__ import annotations

from ledgerkit.replay.stepping import Replay, Step

__all__ = ["Replay", "Step"]
