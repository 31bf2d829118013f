"""Hypothesis strategies for every public model of the protocol: ``MODELS["AgentMessage"]`` draws messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from ledgerkit.protocol import names as p
from ledgerkit.protocol import requests

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For a test under load: whole messages take a while to draw."""
thrifty = settings(patient, max_examples=25)
"""The same, for what is tried once per model."""

texts = st.text(max_size=20)
sentences = st.text(min_size=1, max_size=20)
identifiers = st.text(min_size=1, max_size=12)
counts = st.integers(0, 2**63 - 1)
small_counts = st.integers(0, 1000)
steps = st.integers(0, 2**31 - 1)
digests = st.binary(min_size=32, max_size=32).map(lambda raw: "sha256:" + raw.hex())
media_types = st.sampled_from(["text/plain", "image/png", "application/json", "text/x-diff; charset=utf-8"])
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)
amounts = st.decimals(0, Decimal("999999999.999999999"), places=9)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
json_objects = st.dictionaries(texts, json_values, max_size=3)


def tuples(items: st.SearchStrategy[Any], *, least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def distinct(items: st.SearchStrategy[Any], *, most: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=most, unique=True).map(tuple)


def maybe(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | items


positions = st.integers(0, 10**12 - 2)
line_ranges = st.tuples(positions, positions).map(lambda ab: p.LineRange(first=min(ab) + 1, last=max(ab) + 1))
char_ranges = st.tuples(positions, positions).map(lambda ab: p.CharRange(start=min(ab), end=max(ab) + 1))
awkward_targets = st.text(alphabet=list("#%: /.\t\n\u200b\u00a0é水#L10-c2"), min_size=1, max_size=20)
evidence_refs = st.builds(
    p.EvidenceRef,
    kind=st.sampled_from(p.EvidenceKind),
    target=identifiers | awkward_targets,
    range=maybe(line_ranges | char_ranges),
)
refs = tuples(evidence_refs, most=2)
needed_refs = tuples(evidence_refs, least=1, most=2)
trusts = st.sampled_from(p.TrustLevel)

_labels: dict[str, st.SearchStrategy[Any]] = {
    "content_type": media_types,
    "trust_level": trusts,
    "visibility": st.sampled_from(p.Visibility),
    "evidence_refs": refs,
    "token_count": maybe(counts),
    "summary": maybe(texts),
    "artifact_refs": tuples(digests, most=2),
}
_call = _labels | {
    "path": maybe(texts),
    "arguments_hash": maybe(digests),
    "started_at": maybe(times),
    "finished_at": maybe(times),
    "error_category": maybe(texts),
}
_brought = _call | {"tool_call_id": maybe(identifiers), "tool_name": maybe(identifiers)}
_details = {"details": st.dictionaries(texts.map(lambda name: "x" + name), json_values, max_size=2)}
_lines = st.tuples(st.integers(1, 2**40), st.integers(-1, 2**40)).map(lambda pair: (pair[0], pair[0] + pair[1]))
check_counts = st.builds(
    p.CheckCounts, passed=maybe(counts), failed=maybe(counts), errors=maybe(counts), skipped=maybe(counts)
)

text_parts = st.builds(p.TextPart, **_labels, **_details, text=maybe(texts), path=maybe(texts))
json_parts = st.builds(p.JsonPart, **_brought, data=json_values, text=maybe(texts))
artifact_parts = st.builds(p.ArtifactRefPart, **_brought, **_details, text=maybe(texts))
snippet_parts = _lines.flatmap(
    lambda pair: st.builds(
        p.FileSnippetPart,
        **_brought,
        **_details,
        text=maybe(texts),
        start_line=maybe(st.just(pair[0])),
        end_line=maybe(st.just(pair[1])),
        total_lines=maybe(counts),
    )
)
diff_parts = st.builds(
    p.DiffPart,
    **_brought,
    **_details,
    text=maybe(texts),
    change=maybe(st.sampled_from(p.ChangeType)),
    previous_path=maybe(texts),
    lines_added=maybe(counts),
    lines_removed=maybe(counts),
)
call_parts = st.builds(
    p.ToolCallPart,
    **{name: one for name, one in _call.items() if name != "arguments_hash"},
    tool_call_id=identifiers,
    tool_name=identifiers,
    arguments=json_objects | json_values,
    status=st.sampled_from(p.ToolStatus),
    text=maybe(texts),
)
result_parts = st.builds(
    p.ToolResultPart,
    **_call,
    tool_call_id=identifiers,
    tool_name=maybe(identifiers),
    status=st.sampled_from([status for status in p.ToolStatus if status is not p.ToolStatus.REQUESTED]),
    text=maybe(texts),
    data=json_values,
)
verification_parts = st.builds(
    p.VerificationPart,
    **_brought,
    **_details,
    verdict=st.sampled_from(p.Verdict),
    check=maybe(texts),
    scope=maybe(texts),
    command=maybe(texts),
    exit_code=maybe(st.integers(-(2**63), 2**63 - 1)),
    counts=check_counts,
    failing=tuples(texts),
    text=maybe(texts),
)
error_parts = st.builds(p.ErrorPart, **_brought, text=maybe(texts), data=json_values)
parts: st.SearchStrategy[p.Part] = st.one_of(
    text_parts,
    json_parts,
    artifact_parts,
    snippet_parts,
    diff_parts,
    call_parts,
    result_parts,
    verification_parts,
    error_parts,
)


@st.composite
def usages(draw: st.DrawFn) -> p.Usage:
    cached = [draw(maybe(small_counts)) for _ in range(3)]
    total = maybe(st.integers(sum(one or 0 for one in cached), 10**6))
    reasoning = draw(maybe(small_counts))
    return p.Usage(
        input_tokens=draw(total),
        cache_read_tokens=cached[0],
        cache_write_5m_tokens=cached[1],
        cache_write_1h_tokens=cached[2],
        output_tokens=draw(maybe(st.integers(reasoning or 0, 10**6))),
        reasoning_tokens=reasoning,
    )


model_calls = st.builds(
    p.ModelCall,
    call_id=identifiers,
    model=maybe(texts),
    provider=maybe(texts),
    service_tier=maybe(texts),
    usage=usages(),
    reported_cost=maybe(amounts),
)
ranges = st.tuples(counts, counts).map(lambda ab: p.MessageRange(first=min(ab), last=max(ab)))
source_records = st.builds(
    p.SourceRecord,
    import_id=identifiers,
    source_file=maybe(texts),
    source_offset=maybe(counts),
    source_line=maybe(st.integers(1, 2**63 - 1)),
    source_record=maybe(texts),
)
_message: dict[str, st.SearchStrategy[Any]] = {
    "session_id": identifiers,
    "run_id": identifiers,
    "kind": st.sampled_from(p.MessageKind),
    "actor": identifiers,
    "parts": tuples(parts, least=1, most=2),
    "metadata": json_objects,
    "parent_message_id": maybe(identifiers),
    "trace_id": maybe(identifiers),
    "idempotency_key": maybe(identifiers),
    "step": maybe(steps),
    "visible_from": maybe(steps),
    "call": maybe(model_calls),
    "created_at": maybe(times),
}
messages = st.builds(
    p.AgentMessage, **_message, message_id=identifiers, sequence_no=counts, source=maybe(source_records)
)
commands = st.builds(p.AppendMessageCommand, **_message)
tool_calls = st.builds(
    p.ToolCall,
    tool_call_id=identifiers,
    parent_message_id=identifiers,
    result_message_id=maybe(identifiers),
    tool_name=identifiers,
    arguments_hash=maybe(digests),
    status=st.sampled_from(p.ToolStatus),
    started_at=maybe(times),
    finished_at=maybe(times),
)

segments = st.text(alphabet="abcé.-_ 0", min_size=1, max_size=6).filter(lambda text: text not in (".", ".."))
subjects = st.lists(segments, min_size=1, max_size=3).map("/".join)
_sources = [
    (p.TrustLevel.PLATFORM_TRUSTED, range(1, 9)),
    (p.TrustLevel.ORG_TRUSTED, range(2, 9)),
    (p.TrustLevel.USER_TRUSTED, range(4, 9)),
    (p.TrustLevel.REPOSITORY_UNTRUSTED, range(6, 9)),
    (p.TrustLevel.MODEL_GENERATED, range(8, 9)),
]


def instructions(among: st.SearchStrategy[str] = subjects) -> st.SearchStrategy[p.Instruction]:
    origins = st.sampled_from([(trust, p.AuthorityLevel(level)) for trust, levels in _sources for level in levels])
    return origins.flatmap(
        lambda origin: st.builds(
            p.Instruction,
            name=identifiers,
            level=st.just(origin[1]),
            trust_level=st.just(origin[0]),
            subject=among,
            stance=st.sampled_from(p.Stance),
            content=texts,
            evidence=maybe(evidence_refs),
        )
    )


stacks = st.builds(p.InstructionStack, instructions=tuples(instructions(), most=6))
rulings = st.builds(p.Ruling, subject=subjects, governs=maybe(instructions()), overruled=tuples(instructions(), most=2))

limits = st.builds(
    p.SpendingLimits,
    cost_usd=maybe(amounts),
    steps=maybe(steps),
    input_tokens=maybe(counts),
    output_tokens=maybe(counts),
    seconds=maybe(counts),
)
checks = st.builds(
    p.SuccessCheck, name=identifiers, command=maybe(texts), scope=maybe(texts), is_required=st.booleans()
)
contracts = st.builds(
    p.TaskContract,
    task_id=maybe(identifiers),
    goal=sentences,
    scope=tuples(texts),
    allowed_changes=tuples(texts),
    forbidden_changes=tuples(texts),
    definition_of_done=tuples(texts),
    success_checks=st.lists(checks, max_size=2, unique_by=lambda check: check.name).map(tuple),
    budget=limits,
)


@st.composite
def profiles(draw: st.DrawFn) -> p.PermissionProfile:
    tools = draw(st.lists(identifiers, max_size=6, unique=True))
    network = draw(st.sampled_from(p.NetworkAccess))
    listed = tuples(identifiers, least=1) if network is p.NetworkAccess.LISTED_HOSTS else st.just(())
    return p.PermissionProfile(
        name=draw(identifiers),
        allowed_tools=tuple(tools[0::3]),
        approval_tools=tuple(tools[1::3]),
        denied_tools=tuple(tools[2::3]),
        readable_paths=draw(tuples(texts)),
        writable_paths=draw(tuples(texts)),
        denied_paths=draw(tuples(texts)),
        network=network,
        hosts=draw(listed),
        risk_class=draw(st.sampled_from(p.RiskClass)),
    )


leases = times.flatmap(
    lambda issued: st.builds(
        p.CredentialLease,
        lease_id=identifiers,
        credential_name=identifiers,
        run_id=identifiers,
        tools=tuples(identifiers, least=1),
        hosts=tuples(identifiers),
        issued_at=st.just(issued),
        expires_at=st.timedeltas(timedelta(microseconds=1), timedelta(days=30)).map(lambda life: issued + life),
    )
)
approval_requests = st.builds(
    p.ApprovalRequest,
    request_id=identifiers,
    action=sentences,
    reason=texts,
    scope=tuples(subjects, least=1),
    risk_class=st.sampled_from(p.RiskClass),
    tool_call_id=maybe(identifiers),
    arguments_hash=maybe(digests),
    evidence_refs=refs,
    requested_at=maybe(times),
)
approval_decisions = st.builds(
    p.ApprovalDecision,
    request_id=identifiers,
    outcome=st.sampled_from(p.ApprovalOutcome),
    decided_by=identifiers,
    scope=tuples(subjects, least=1),
    arguments_hash=maybe(digests),
    note=maybe(texts),
    decided_at=maybe(times),
    expires_at=maybe(times),
)


@st.composite
def budgets(draw: st.DrawFn) -> p.TokenBudget:
    cuts = sorted(draw(st.lists(st.integers(0, 100), min_size=6, max_size=6)))
    percents = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
    shares = [
        share.model_copy(update={"percent": percent}) for share, percent in zip(p.DEFAULT_SHARES, percents, strict=True)
    ]
    spill = st.lists(st.sampled_from([n for n in p.BudgetName if n is not p.BudgetName.ANSWER]), unique=True)
    return p.TokenBudget(
        context_window=draw(st.integers(1, 2_000_000)), shares=tuple(shares), spill_order=tuple(draw(spill))
    )


_block: dict[str, st.SearchStrategy[Any]] = {"trust_level": trusts, "part_id": maybe(identifiers)}
text_blocks = st.builds(p.LlmTextBlock, **_block, text=texts)
json_blocks = st.builds(p.LlmJsonBlock, **_block, data=json_values)
call_blocks = st.builds(
    p.LlmToolCallBlock, **_block, tool_call_id=identifiers, tool_name=identifiers, arguments=json_objects
)
result_blocks = st.builds(
    p.LlmToolResultBlock, **_block, tool_call_id=identifiers, status=st.sampled_from(p.ToolStatus), text=texts
)
artifact_blocks = st.builds(
    p.LlmArtifactReferenceBlock,
    **_block,
    artifact=digests,
    media_type=media_types,
    summary=maybe(texts),
    byte_count=maybe(counts),
)
diff_blocks = st.builds(p.LlmDiffBlock, **_block, path=maybe(texts), text=texts)
_plain_blocks = st.one_of(text_blocks, json_blocks, artifact_blocks, diff_blocks)
_instructing = trusts.filter(requests.may_instruct)
_said = {
    p.LlmRole.SYSTEM: st.builds(p.LlmTextBlock, trust_level=_instructing, text=texts),
    p.LlmRole.DEVELOPER: st.builds(p.LlmTextBlock, trust_level=_instructing, text=texts),
    p.LlmRole.USER: _plain_blocks,
    p.LlmRole.ASSISTANT: _plain_blocks | call_blocks,
    p.LlmRole.TOOL: result_blocks,
}
llm_messages = st.sampled_from(p.LlmRole).flatmap(
    lambda role: st.builds(
        p.LlmMessage, role=st.just(role), content=tuples(_said[role], least=1), metadata=json_objects
    )
)
llm_instructions = st.builds(
    p.LlmInstruction,
    priority=st.sampled_from(p.InstructionPriority),
    trust_level=_instructing,
    name=identifiers,
    content=texts,
)
tools = st.builds(
    p.ToolDefinition,
    name=identifiers,
    description=texts,
    parameters=json_objects.map(lambda schema: {**schema, "type": "object"}),
)
response_contracts = st.builds(
    p.ResponseContract, name=identifiers, answer_schema=json_objects, is_strict=st.booleans()
)
tool_choices = st.builds(p.ToolChoice, mode=st.sampled_from(p.ToolChoiceMode), allowed=maybe(tuples(identifiers)))
_open_choices = st.builds(p.ToolChoice, mode=st.sampled_from(p.ToolChoiceMode), allowed=st.none() | st.just(()))


def _options(choices: st.SearchStrategy[p.ToolChoice]) -> st.SearchStrategy[p.LlmRequestOptions]:
    return st.builds(
        p.LlmRequestOptions,
        max_output_tokens=maybe(st.integers(1, 10**6)),
        temperature=maybe(st.floats(0, 2)),
        top_p=maybe(st.floats(0, 1)),
        seed=maybe(counts),
        stop_sequences=tuples(identifiers),
        reasoning_effort=maybe(identifiers),
        parallel_tool_calls=maybe(st.booleans()),
        tool_choice=choices,
    )


traces = st.builds(p.TraceContext, session_id=identifiers, run_id=identifiers, step=steps, trace_id=maybe(identifiers))
llm_requests = st.builds(
    p.LlmRequest,
    request_id=identifiers,
    model=identifiers,
    instructions=tuples(llm_instructions, most=2),
    messages=tuples(llm_messages, most=2),
    tools=st.lists(tools, max_size=2, unique_by=lambda tool: tool.name).map(tuple),
    response_contract=maybe(response_contracts),
    options=_options(_open_choices),
    trace=maybe(traces),
)


def _next_action(
    action: p.NextAction, why: str, tool: str | None = None, arguments: dict[str, JsonValue] | None = None
) -> p.NextActionResponse:
    return p.NextActionResponse(next_action=action, rationale_summary=why, tool_name=tool, tool_arguments=arguments)


next_actions = st.one_of(
    st.builds(
        _next_action,
        st.sampled_from([p.NextAction.CALL_TOOL, p.NextAction.REQUEST_APPROVAL]),
        texts,
        identifiers,
        maybe(json_objects),
    ),
    st.builds(
        _next_action,
        st.sampled_from([p.NextAction.FINISH_WITH_PATCH, p.NextAction.FINISH_BLOCKED, p.NextAction.FINISH_FAILED]),
        texts,
    ),
)

_evidenced: dict[str, st.SearchStrategy[Any]] = {"evidence_refs": needed_refs, "trust_level": trusts}
_outcomes = st.sampled_from(p.ClaimOutcome)
_fact = _evidenced | {"fact": sentences, "confidence": maybe(st.sampled_from(p.Confidence)), "outcome": _outcomes}
goals = st.builds(p.Goal, **_evidenced, goal=sentences)
plan_items = st.builds(p.PlanItem, **_evidenced, item=sentences, status=maybe(st.sampled_from(p.PlanStatus)))
changed_files = st.builds(p.ChangedFile, **_evidenced, path=sentences, change=maybe(st.sampled_from(p.ChangeType)))
facts = st.builds(p.Fact, **_fact)
decisions = st.builds(p.Decision, **_evidenced, decision=sentences, reason=texts, outcome=_outcomes)
problems = st.builds(p.OpenProblem, **_evidenced, problem=sentences, outcome=_outcomes)
blockers = st.builds(p.Blocker, **_evidenced, blocker=sentences)
failures = st.tuples(counts, counts).flatmap(
    lambda ab: st.builds(
        p.Failure,
        **_evidenced,
        check=sentences,
        first_failed_at=st.just(min(ab)),
        last_failed_at=st.just(max(ab)),
        is_resolved=st.booleans(),
    )
)
working_memories = st.builds(
    p.WorkingMemory,
    run_id=identifiers,
    task_goal=maybe(goals),
    current_plan=tuples(plan_items, most=1),
    changed_files=tuples(changed_files, most=1),
    known_facts=tuples(facts, most=2),
    open_problems=tuples(problems, most=1),
    blocked_by=tuples(blockers, most=1),
    failure_history=tuples(failures, most=1),
    budget_left=maybe(limits),
)
summaries = st.builds(
    p.Summary,
    summary_version=st.sampled_from(["1.0", "1.1", "12.0"]),
    facts=tuples(facts, most=2),
    decisions=tuples(decisions, most=1),
    open_problems=tuples(problems, most=1),
    changed_files=tuples(changed_files, most=1),
    discarded_details=tuples(sentences),
)
repository_facts = st.builds(
    p.RepositoryFact,
    **_fact,
    topic=st.sampled_from(p.RepositoryTopic),
    last_seen_commit=maybe(identifiers),
)
repository_memories = st.builds(p.RepositoryMemory, repository=identifiers, facts=tuples(repository_facts, most=2))
source_ranges = st.builds(p.SourceRange, run_id=identifiers, messages=ranges)


@st.composite
def snapshots(draw: st.DrawFn) -> p.MemorySnapshot:
    content = draw(st.one_of(working_memories, summaries, repository_memories))
    is_run = isinstance(content, p.WorkingMemory)
    many = st.lists(source_ranges, min_size=1, max_size=3, unique_by=lambda one: one.run_id)
    sources = [p.SourceRange(run_id=content.run_id, messages=draw(ranges))] if is_run else draw(many)
    return p.MemorySnapshot(
        snapshot_id=draw(identifiers),
        session_id=draw(identifiers if isinstance(content, p.Summary) else maybe(identifiers)),
        run_id=content.run_id if isinstance(content, p.WorkingMemory) else None,
        repository=content.repository if isinstance(content, p.RepositoryMemory) else None,
        snapshot_version=draw(st.integers(1, 100)),
        content=content,
        sources=tuple(sources),
        created_at=draw(times),
    )


MODELS: Mapping[str, st.SearchStrategy[Any]] = {
    "AgentMessage": messages,
    "AppendMessageCommand": commands,
    "ApprovalDecision": approval_decisions,
    "ApprovalRequest": approval_requests,
    "ArtifactRefPart": artifact_parts,
    "Blocker": blockers,
    "ChangedFile": changed_files,
    "CharRange": char_ranges,
    "CheckCounts": check_counts,
    "CredentialLease": leases,
    "Decision": decisions,
    "DiffPart": diff_parts,
    "ErrorPart": error_parts,
    "EvidenceRef": evidence_refs,
    "Fact": facts,
    "Failure": failures,
    "FileSnippetPart": snippet_parts,
    "Goal": goals,
    "Instruction": instructions(),
    "InstructionStack": stacks,
    "JsonPart": json_parts,
    "KindRole": st.sampled_from(list(p.ROLE_OF_KIND.values())),
    "LineRange": line_ranges,
    "LlmArtifactReferenceBlock": artifact_blocks,
    "LlmDiffBlock": diff_blocks,
    "LlmInstruction": llm_instructions,
    "LlmJsonBlock": json_blocks,
    "LlmMessage": llm_messages,
    "LlmRequest": llm_requests,
    "LlmRequestOptions": _options(tool_choices),
    "LlmTextBlock": text_blocks,
    "LlmToolCallBlock": call_blocks,
    "LlmToolResultBlock": result_blocks,
    "MemorySnapshot": snapshots(),
    "MessageRange": ranges,
    "ModelCall": model_calls,
    "NextActionResponse": next_actions,
    "OpenProblem": problems,
    "PermissionProfile": profiles(),
    "PlanItem": plan_items,
    "PromptCacheRule": st.sampled_from([rule for one in p.PROVIDERS.values() for rule in one.cache_rules]),
    "ProviderCapabilities": st.sampled_from(list(p.PROVIDERS.values())),
    "RepositoryFact": repository_facts,
    "RepositoryMemory": repository_memories,
    "ResponseContract": response_contracts,
    "Ruling": rulings,
    "SectionBudget": st.sampled_from(p.DEFAULT_SHARES),
    "SourceRange": source_ranges,
    "SourceRecord": source_records,
    "SpendingLimits": limits,
    "SuccessCheck": checks,
    "Summary": summaries,
    "TaskContract": contracts,
    "TextPart": text_parts,
    "TokenBudget": budgets(),
    "ToolCall": tool_calls,
    "ToolCallPart": call_parts,
    "ToolChoice": tool_choices,
    "ToolDefinition": tools,
    "ToolResultPart": result_parts,
    "TraceContext": traces,
    "Usage": usages(),
    "VerificationPart": verification_parts,
    "WorkingMemory": working_memories,
}
"""A strategy for each public model."""
