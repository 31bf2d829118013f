"""The demo runs are imported whole, and what the ledger says of them agrees with their truth."""

from __future__ import annotations

import ledgerkit as lk
from tests.agent.test_demo_data import DATA, truths


def test_the_ledger_says_of_every_run_what_the_truth_says(ledger: lk.Ledger) -> None:
    account = ledger.import_logs(DATA / "claude-code", DATA / "ledgerkit")
    assert (account.quarantined, len(account.unsupported)) == (0, 0)
    rows = ledger.sql(
        "select session_id, sum(input_tokens)::bigint, sum(output_tokens)::bigint, sum(steps)::bigint, "
        "sum(tool_calls)::bigint, max(outcome), count(*) filter (where relation is null) "
        "from runs where relation is distinct from 'subagent' group by 1"
    ).rows()
    said = {session: facts for session, *facts in rows}
    wanted = truths(1) + truths(2)
    assert len(said) == len(wanted) == 48
    for run in wanted:
        outcome = run["outcome"] if run["seed"] == 2 else None
        facts = [run[name] for name in ("input_tokens", "output_tokens", "steps", "tool_calls")]
        assert said[run["session_id"]] == [*facts, outcome, 1], run
