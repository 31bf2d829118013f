"""The page of the audit says what the rules say."""

from __future__ import annotations

from ledgerkit.safety.injection import RULES
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "injection-audit.md"


def test_the_table_lists_every_rule_with_what_it_means() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.replace("\\|", "\0").strip("|").split("|")] for line in lines]
    written = {(row[0].strip("`"), row[1], row[2].replace("\0", "|"), row[3].replace("\0", "|")) for row in cells}
    rules = {(r.rule_id, r.severity.value, f"{r.title}. {r.means}", r.does_not_mean) for r in RULES.values()}
    assert written == rules
    assert all(len(row) == 7 and all(row[4:]) for row in cells)
