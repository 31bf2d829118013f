"""May a call be made: the profile, the approvals, the task, and who first named what the call names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import polars as pl

from ledgerkit.agent.live.saying import Call
from ledgerkit.agent.live.setup import Setup
from ledgerkit.protocol.contracts import ApprovalDecision, ApprovalOutcome, ApprovalRequest, RiskClass
from ledgerkit.protocol.toolcalls import canonical_json
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel
from ledgerkit.safety.permissions import LabelledApproval, PermissionDecision, ProposedCall, check_permission
from ledgerkit.safety.taint import PART_COLUMNS, trace_arguments

_SHOWN: Final = 1_500


def permission(
    setup: Setup, call: Call, parts: pl.DataFrame, approvals: Sequence[LabelledApproval], at: datetime, root: str
) -> PermissionDecision:
    """Whether a call may be made now.

    Args:
        setup: The run's set-up.
        call: The call.
        parts: The run's parts, by which its arguments are traced to who named them first.
        approvals: Approvals that may be about it.
        at: Now.
        root: The workspace's root, as the agent knows it.
    """
    proposed = ProposedCall(
        call.tool_name,
        call.arguments,
        setup.risks.get(call.tool_name, RiskClass.CRITICAL),
        suggested_by(parts, call, root),
        root,
    )
    return check_permission(setup.profile, proposed, approvals, task=setup.task, at=at)


def suggested_by(parts: pl.DataFrame, call: Call, root: str) -> TrustLevel:
    """The least trusted source of what a call names; the model, if it named it all itself or had it from the user."""
    keys = parts.select("session_id").head(1)["session_id"][0]
    row = {
        "session_id": keys,
        "run_id": call.run_id,
        "sequence_no": int(str(parts["sequence_no"].max())) + 1,
        "part_index": 0,
        "message_id": "proposed",
        "part_id": "proposed.0",
        "kind": MessageKind.TOOL_CALL_REQUEST.value,
        "part_type": PartType.TOOL_CALL.value,
        "part_trust_level": TrustLevel.MODEL_GENERATED.value,
        "tool_call_id": "proposed",
        "tool_name": call.tool_name,
        "data": canonical_json(call.arguments),
    }
    seen = parts.select(PART_COLUMNS).with_columns(pl.col("sequence_no", "part_index").cast(pl.Int64))
    proposed = pl.DataFrame([row]).cast({"part_index": pl.Int64})
    runs = pl.DataFrame({"session_id": [keys], "run_id": [call.run_id], "working_directory": [root]})
    traced = trace_arguments(pl.concat([seen, proposed], how="diagonal_relaxed"), runs=runs)
    own = traced.filter(pl.col("tool_call_id") == "proposed", pl.col("origin") == "untrusted")
    levels = [TrustLevel(level) for level in own["source_trust_level"].drop_nulls()]
    return TrustLevel.lowest([TrustLevel.MODEL_GENERATED, *levels])


def request_for(
    call: Call, request_id: str, reason: str, risk: RiskClass, at: datetime, *, again: bool = False
) -> ApprovalRequest:
    """The request for a person's approval of just this call."""
    shown = canonical_json(call.arguments)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} … ({len(shown)} characters)"
    return ApprovalRequest(
        request_id=request_id,
        action=f"{'Call again: ' if again else ''}{call.tool_name} {shown}",
        reason=reason,
        scope=(f"tools/{call.tool_name.strip('/') or '-'}",),
        risk_class=risk,
        tool_call_id=call.tool_call_id,
        arguments_hash=call.arguments_hash,
        requested_at=at,
    )


def decide(
    request: ApprovalRequest, *, approve: bool, by: str, at: datetime, note: str | None = None
) -> ApprovalDecision:
    """A person's answer to a request, for just what was asked.

    Args:
        request: The request.
        approve: Whether it may be done.
        by: Who decides.
        at: When.
        note: What the person says about it.
    """
    return ApprovalDecision(
        request_id=request.request_id,
        outcome=ApprovalOutcome.APPROVED if approve else ApprovalOutcome.DENIED,
        decided_by=by,
        scope=request.scope,
        arguments_hash=request.arguments_hash,
        note=note,
        decided_at=at,
    )
