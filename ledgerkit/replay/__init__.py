"""Replay: a run step by step, how true its rebuilt contexts are, and where two runs part."""

from __future__ import annotations

from ledgerkit.replay.stepping import Replay, Step

__all__ = ["Replay", "Step"]
