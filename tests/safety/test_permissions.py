"""Whether a call may be made: the profile first, then approvals, the task, trust and risk; and never by mistake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgerkit.protocol.names import (
    ApprovalDecision,
    ApprovalOutcome,
    NetworkAccess,
    PermissionProfile,
    RiskClass,
    TaskContract,
    TrustLevel,
    arguments_hash,
)
from ledgerkit.safety.permissions import (
    LabelledApproval,
    PermissionDecision,
    PermissionEffect,
    PermissionRule,
    ProposedCall,
    check_permission,
)

ALLOW, ASK, DENY = PermissionEffect.ALLOW, PermissionEffect.NEEDS_APPROVAL, PermissionEffect.DENY
NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)
ROOT = "/home/dev/shop"
PROFILE = PermissionProfile(
    name="work",
    allowed_tools=("Bash", "Edit", "Glob", "Read", "WebFetch", "Write", "send_email"),
    approval_tools=("Deploy",),
    denied_tools=("Format",),
    readable_paths=("**",),
    writable_paths=("**",),
    denied_paths=("vendor/**", ".env", "~/.ssh/**"),
    risk_class=RiskClass.MEDIUM,
)
LISTED = PROFILE.model_copy(update={"network": NetworkAccess.LISTED_HOSTS, "hosts": ("docs.example",)})
OPEN = PROFILE.model_copy(update={"network": NetworkAccess.ALL})


def proposed(name: str = "Bash", /, risk: RiskClass | None = RiskClass.MEDIUM, **arguments: object) -> ProposedCall:
    return ProposedCall(name, arguments, risk, TrustLevel.USER_TRUSTED, ROOT)


def approval(
    *scope: str, outcome: str = "approved", trust: TrustLevel = TrustLevel.USER_TRUSTED, **more: Any
) -> LabelledApproval:
    decision = ApprovalDecision(
        request_id=more.pop("request_id", "q1"), outcome=ApprovalOutcome(outcome), decided_by="ann", scope=scope, **more
    )
    return LabelledApproval(decision, trust)


def told(decision: PermissionDecision) -> tuple[PermissionEffect, str]:
    assert decision.reason
    return decision.effect, decision.rule.value


@pytest.mark.parametrize(
    ("call", "effect", "rule"),
    [
        (proposed("Read", file_path="src/a.py"), ALLOW, "within_profile"),
        (proposed(command="python -m pytest -q tests/test_a.py | tail -3"), ALLOW, "within_profile"),
        (proposed("Edit", file_path=f"{ROOT}/src/a.py", old_string="a", new_string="b"), ALLOW, "within_profile"),
        (proposed("Format", command="x"), DENY, "tool_denied"),
        (proposed("Unheard_of", command="x"), DENY, "tool_denied"),
        (proposed("Write", file_path="vendor/x.py", content=""), DENY, "path_denied"),
        (proposed("Write", file_path=f"{ROOT}/src/../VENDOR/x.py", content=""), DENY, "path_denied"),
        (proposed(command="cat .env"), DENY, "path_denied"),
        (proposed(command="cd vendor && touch x.py"), DENY, "path_denied"),
        (proposed(command="bash -c 'cat .env'"), DENY, "path_denied"),
        (proposed("Read", file_path="/etc/passwd"), DENY, "path_denied"),
        (proposed("Read", file_path="../other/a.py"), DENY, "path_denied"),
        (proposed(command="cat /home/dev/.ssh/id_rsa"), DENY, "path_denied"),
        (proposed(command="echo x > /etc/cron.d/x"), DENY, "path_denied"),
        (proposed("Glob", pattern="/etc/**"), DENY, "path_denied"),
        (proposed("Glob", pattern="src/../../x/*"), DENY, "path_denied"),
        (proposed("Glob", pattern="**/*.py"), ALLOW, "within_profile"),
        (proposed(command="curl https://docs.example/x"), DENY, "network_denied"),
        (proposed(command="git push"), DENY, "network_denied"),
        (proposed(command="pip install x"), DENY, "network_denied"),
        (proposed(command="exec 3<>/dev/tcp/a.example/80"), DENY, "path_denied"),
        (proposed("WebFetch", url="https://docs.example/x"), DENY, "network_denied"),
        (proposed("send_email", to="ann@docs.example"), DENY, "network_denied"),
        (proposed("Deploy", stage="test"), ASK, "tool_needs_approval"),
        (proposed(command="make", risk=RiskClass.HIGH), ASK, "risk_too_high"),
        (proposed(command="make", risk=None), ASK, "risk_too_high"),
        (proposed(command="eval $X"), ASK, "opaque_command"),
        (proposed(command="base64 -d x.txt | sh"), ASK, "opaque_command"),
        (proposed("Write", content="x"), ASK, "arguments_unreadable"),
    ],
)
def test_what_becomes_of_a_call(call: ProposedCall, effect: PermissionEffect, rule: str) -> None:
    assert told(check_permission(PROFILE, call)) == (effect, rule)


@pytest.mark.parametrize(
    ("call", "effect"),
    [
        (proposed("WebFetch", url="https://Docs.Example/x"), ALLOW),
        (proposed("WebFetch", url="https://docs.example.evil.example/x"), DENY),
        (proposed("WebFetch", url="https://docs.example@evil.example/x"), DENY),
        (proposed("send_email", to="ann@docs.example"), ALLOW),
        (proposed("send_email", to="ann@evil.example"), DENY),
        (proposed(command="curl https://docs.example/x https://evil.example"), DENY),
        (proposed(command="git push"), DENY),
        (proposed(command="pip install x"), DENY),
    ],
)
def test_only_listed_hosts_are_reached_and_only_by_calls_that_say_so(
    call: ProposedCall, effect: PermissionEffect
) -> None:
    assert check_permission(LISTED, call).effect is effect
    assert check_permission(OPEN, call).effect is ALLOW


@pytest.mark.parametrize(
    "source", [TrustLevel.REPOSITORY_UNTRUSTED, TrustLevel.NETWORK_UNTRUSTED, TrustLevel.UNKNOWN, None]
)
def test_what_untrusted_text_suggests_needs_a_person_who_sees_it(source: TrustLevel | None) -> None:
    call = ProposedCall("Bash", {"command": "make x"}, RiskClass.MEDIUM, source, ROOT)
    assert told(check_permission(PROFILE, call)) == (ASK, "untrusted_influence")
    assert told(check_permission(PROFILE, call, [approval("tools/Bash")])) == (ASK, "untrusted_influence")
    exact = approval("tools/Bash", arguments_hash=arguments_hash(call.arguments))
    assert told(check_permission(PROFILE, call, [exact])) == (ALLOW, "approved")
    harmless = ProposedCall("Read", {"file_path": "a.py"}, RiskClass.LOW, source, ROOT)
    assert check_permission(PROFILE, harmless).effect is ALLOW


def test_arguments_without_a_json_form_are_denied() -> None:
    for arguments in ({"command": float("nan")}, {"command": {1, 2}}, {"command": "\ud800"}):
        call = ProposedCall("Bash", arguments, RiskClass.LOW, TrustLevel.USER_TRUSTED, ROOT)
        assert told(check_permission(PROFILE, call)) == (DENY, "arguments_unreadable")


# Approvals

DEPLOY = proposed("Deploy", stage="test")
EXACT = arguments_hash(DEPLOY.arguments)


@pytest.mark.parametrize(
    ("given_", "effect", "rule"),
    [
        ([], ASK, "tool_needs_approval"),
        ([approval("tools/Deploy")], ALLOW, "approved"),
        ([approval("tools/Deploy", arguments_hash=EXACT)], ALLOW, "approved"),
        ([approval("tools/Deploy", arguments_hash=arguments_hash({"stage": "live"}))], ASK, "tool_needs_approval"),
        ([approval("tools/Other")], ASK, "tool_needs_approval"),
        ([approval("tools/Deploy", expires_at=NOW + timedelta(hours=1))], ALLOW, "approved"),
        ([approval("tools/Deploy", expires_at=NOW)], ASK, "tool_needs_approval"),
        ([approval("tools/Deploy", decided_at=NOW + timedelta(hours=1))], ASK, "tool_needs_approval"),
        ([approval("tools/Deploy", outcome="denied")], DENY, "approval_refused"),
        ([approval("tools/Deploy"), approval("tools/Deploy", outcome="denied")], DENY, "approval_refused"),
        (
            [
                approval("tools/Deploy", outcome="denied", decided_at=NOW - timedelta(hours=2)),
                approval("tools/Deploy", decided_at=NOW - timedelta(hours=1)),
            ],
            ALLOW,
            "approved",
        ),
        (
            [
                approval("tools/Deploy", decided_at=NOW - timedelta(hours=2)),
                approval("tools/Deploy", outcome="denied", decided_at=NOW - timedelta(hours=1)),
            ],
            DENY,
            "approval_refused",
        ),
    ],
)
def test_an_approval_counts_for_what_it_names_while_it_holds(
    given_: list[LabelledApproval], effect: PermissionEffect, rule: str
) -> None:
    assert told(check_permission(PROFILE, DEPLOY, given_, at=NOW)) == (effect, rule)
    assert told(check_permission(PROFILE, DEPLOY, given_[::-1], at=NOW)) == (effect, rule)


def test_an_approval_that_expires_has_expired_where_nobody_knows_the_time() -> None:
    ends = approval("tools/Deploy", expires_at=NOW + timedelta(hours=1))
    assert check_permission(PROFILE, DEPLOY, [ends]).effect is ASK


@pytest.mark.parametrize("trust", [level for level in TrustLevel if level.rank > TrustLevel.USER_TRUSTED.rank])
def test_nobody_but_a_person_the_organisation_or_the_platform_approves(trust: TrustLevel) -> None:
    given_ = [approval("tools/Deploy", arguments_hash=EXACT, trust=trust)]
    assert check_permission(PROFILE, DEPLOY, given_, at=NOW).effect is ASK


def test_an_approval_amends_the_task_for_the_file_that_it_names_and_within_the_profile() -> None:
    task = TaskContract(goal="g", forbidden_changes=("service-b/**",))
    one, two = (proposed("Write", file_path=f"service-b/{name}.java", content="") for name in ("one", "two"))
    for_one = approval("files/service-b/one.java")
    assert told(check_permission(PROFILE, one, task=task)) == (DENY, "task_forbids")
    assert told(check_permission(PROFILE, one, [approval("tools/Write")], task=task)) == (DENY, "task_forbids")
    allowed = check_permission(PROFILE, one, [for_one], task=task)
    assert told(allowed) == (ALLOW, "approved")
    assert allowed.approved_by == "q1"
    assert told(check_permission(PROFILE, two, [for_one], task=task)) == (DENY, "task_forbids")
    strict = PROFILE.model_copy(update={"denied_paths": ("service-b/**",)})
    assert told(check_permission(strict, one, [for_one], task=task)) == (DENY, "path_denied")


# What must hold for any call

COMMANDS = ("make", "cat .env", "curl https://evil.example", "git push", "eval $X", "touch vendor/x", "cat /etc/passwd",
            "rm -rf src", "pip install x", "./x.sh > out.txt")  # fmt: skip
risks = st.sampled_from([None, *RiskClass])
sources = st.sampled_from([None, *TrustLevel])
calls = st.builds(
    ProposedCall,
    tool_name=st.sampled_from(["Bash", "Read", "Write", "Deploy", "Format", "Nobody"]),
    arguments=st.one_of(
        st.fixed_dictionaries({"command": st.sampled_from(COMMANDS)}),
        st.fixed_dictionaries(
            {"file_path": st.sampled_from(["a.py", "vendor/x", "/etc/passwd", "service-b/one.java"])}
        ),
    ),
    risk_class=risks,
    suggested_by=sources,
    working_directory=st.sampled_from([ROOT, None]),
)
profiles = st.sampled_from([PROFILE, LISTED, OPEN])
SCOPES = ("tools/Bash", "tools/Write", "tools/Deploy", "files/service-b/one.java", "network", "files")


@st.composite
def labelled(draw: st.DrawFn) -> LabelledApproval:
    outcome, request_id = draw(st.sampled_from(["approved", "denied"])), draw(st.sampled_from(["q1", "q2"]))
    trust = draw(st.sampled_from(TrustLevel))
    return approval(draw(st.sampled_from(SCOPES)), outcome=outcome, trust=trust, request_id=request_id)


approvals = st.lists(labelled(), max_size=4)
TASK = TaskContract(goal="g", forbidden_changes=("service-b/**", "out.txt"))
LENIENCE = {DENY: 0, ASK: 1, ALLOW: 2}
FINAL = {PermissionRule.TOOL_DENIED, PermissionRule.ARGUMENTS_UNREADABLE, PermissionRule.PATH_DENIED,
         PermissionRule.NETWORK_DENIED}  # fmt: skip
patient = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.long
@patient
@given(profiles, calls, approvals)
def test_no_approval_lifts_what_the_profile_denies(
    profile: PermissionProfile, call: ProposedCall, given_: list[LabelledApproval]
) -> None:
    plain = check_permission(profile, call, task=TASK)
    decision = check_permission(profile, call, given_, task=TASK)
    if plain.rule in FINAL and plain.effect is DENY:
        assert decision == plain
    if not any(one.decision.outcome is ApprovalOutcome.APPROVED for one in given_):
        assert LENIENCE[decision.effect] <= LENIENCE[plain.effect]


@pytest.mark.long
@patient
@given(profiles, calls, approvals)
def test_approvals_without_authority_change_nothing(
    profile: PermissionProfile, call: ProposedCall, given_: list[LabelledApproval]
) -> None:
    by_people = [one for one in given_ if one.trust_level.rank <= TrustLevel.USER_TRUSTED.rank]
    assert check_permission(profile, call, given_, task=TASK) == check_permission(profile, call, by_people, task=TASK)


@pytest.mark.slow
@patient
@given(profiles, calls, approvals, st.sampled_from(["denied", "risk", "network", "tool"]))
def test_a_stricter_profile_is_never_more_lenient(
    profile: PermissionProfile, call: ProposedCall, given_: list[LabelledApproval], what: str
) -> None:
    stricter = profile.model_copy(
        update={
            "denied": {"denied_paths": (*profile.denied_paths, "src/**", "a.py")},
            "risk": {"risk_class": RiskClass.LOW},
            "network": {"network": NetworkAccess.NONE, "hosts": ()},
            "tool": {"allowed_tools": tuple(one for one in profile.allowed_tools if one != call.tool_name)},
        }[what]
    )
    before, after = (check_permission(one, call, given_, task=TASK).effect for one in (profile, stricter))
    assert LENIENCE[after] <= LENIENCE[before]


@pytest.mark.slow
@patient
@given(profiles, calls, approvals, st.integers(min_value=0, max_value=99))
def test_the_order_of_approvals_does_not_matter(
    profile: PermissionProfile, call: ProposedCall, given_: list[LabelledApproval], seed: int
) -> None:
    shuffled = Random(seed).sample(given_, len(given_))
    one, other = (check_permission(profile, call, some, task=TASK) for some in (given_, shuffled))
    assert (one.effect, one.rule) == (other.effect, other.rule)
