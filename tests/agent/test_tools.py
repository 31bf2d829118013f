"""Tools really work on files, and answer wrong calls instead of raising."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledgerkit.agent.exchange import ToolUse
from ledgerkit.agent.outcomes import ChangeFields, FileFields, Outcome, ShellFields
from ledgerkit.agent.shell import Shell, ShellCache, install_python
from ledgerkit.agent.tools import OUTPUT_LIMIT, Toolbox
from ledgerkit.agent.workspace import OutsideWorkspaceError, Workspace, toy_repository
from ledgerkit.protocol.vocabulary import ToolStatus

ROOT = "/home/dev/src/shop"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "shop").mkdir()
    made = Workspace(tmp_path / "shop", ROOT)
    made.restore({"shop/prices.py": "PEN = 120\nCUP = 999\n", "README.md": "# Shop\n", "docs/a.md": "PEN\n"})
    return made


@pytest.fixture
def toolbox(workspace: Workspace, tmp_path: Path) -> Toolbox:
    shell = Shell(workspace, install_python(tmp_path / "bin"), environment={"REGION": "AT"})
    return Toolbox(workspace, shell, outputs="/home/dev/outputs")


def use(toolbox: Toolbox, name: str, **arguments: object) -> Outcome:
    return toolbox.run(ToolUse("call-1", name, arguments))


def test_read_numbers_lines_and_keeps_the_range(toolbox: Toolbox) -> None:
    outcome = use(toolbox, "Read", file_path=f"{ROOT}/shop/prices.py", offset=2, limit=1)
    assert outcome.text == "     2→CUP = 999"
    assert outcome.fields == FileFields(f"{ROOT}/shop/prices.py", "CUP = 999", 2, 1, 2)


def test_edit_changes_the_file_and_keeps_both_texts(toolbox: Toolbox, workspace: Workspace) -> None:
    outcome = use(toolbox, "Edit", file_path=f"{ROOT}/shop/prices.py", old_string="120", new_string="130")
    assert workspace.read("shop/prices.py") == "PEN = 130\nCUP = 999\n"
    assert isinstance(outcome.fields, ChangeFields)
    assert outcome.fields.before == "PEN = 120\nCUP = 999\n"


@pytest.mark.parametrize(
    ("name", "arguments", "category"),
    [
        ("Edit", {"file_path": f"{ROOT}/README.md", "old_string": "Inn", "new_string": "x"}, "text_not_found"),
        ("Edit", {"file_path": f"{ROOT}/shop/prices.py", "old_string": "9", "new_string": "8"}, "text_not_unique"),
        ("Read", {"file_path": f"{ROOT}/missing.py"}, "file_not_found"),
        ("Read", {"file_path": "/etc/passwd"}, "outside_workspace"),
        ("Read", {"file_path": f"{ROOT}/../secret"}, "outside_workspace"),
        ("Grep", {"pattern": "("}, "bad_pattern"),
        ("Fly", {}, "unknown_tool"),
    ],
)
def test_a_wrong_call_is_answered_and_changes_nothing(
    toolbox: Toolbox, workspace: Workspace, name: str, arguments: dict[str, object], category: str
) -> None:
    before = workspace.snapshot()
    outcome = use(toolbox, name, **arguments)
    assert (outcome.status, outcome.error_category) == (ToolStatus.FAILED, category)
    assert workspace.snapshot() == before


def test_a_link_does_not_lead_out_of_the_workspace(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    (workspace.root / "link.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(OutsideWorkspaceError):
        workspace.read("link.txt")


def test_search_and_list_name_files_as_the_agent_knows_them(toolbox: Toolbox) -> None:
    lines = use(toolbox, "Grep", pattern="PEN", output_mode="content").text
    assert lines == "docs/a.md:1:PEN\nshop/prices.py:1:PEN = 120"
    assert use(toolbox, "Grep", pattern="PEN", glob="*.py").text == f"Found 1 file\n{ROOT}/shop/prices.py"
    assert use(toolbox, "Glob", pattern="**/*.md").text == f"{ROOT}/README.md\n{ROOT}/docs/a.md"
    assert use(toolbox, "Glob", pattern="*.rs").text == "No files found"


def test_commands_run_in_a_scrubbed_environment(toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKED", "1")
    shown = use(toolbox, "Bash", command="env | sort; pwd; python -c 'print(1 + 1)'").text
    assert "LEAKED" not in shown
    assert "REGION=AT" in shown
    assert shown.endswith(f"{ROOT}\n2")


def test_a_failed_command_shows_its_exit_code(toolbox: Toolbox) -> None:
    outcome = use(toolbox, "Bash", command="echo broken; exit 3")
    assert outcome.text == "Exit code 3\nbroken"
    assert outcome.fields == ShellFields("broken", "", 3)
    assert outcome.is_error


def test_a_long_output_is_kept_whole_and_shown_by_its_head(toolbox: Toolbox) -> None:
    outcome = use(toolbox, "Bash", command="python -c \"print('x\\n' * 20000)\"")
    assert outcome.full_text is not None
    assert len(outcome.full_text) > OUTPUT_LIMIT
    assert "/home/dev/outputs/call-1.txt" in outcome.text
    assert len(outcome.text) < 3_000


def test_an_equal_command_is_recalled_with_its_changes(workspace: Workspace, tmp_path: Path) -> None:
    python, cache = install_python(tmp_path / "bin"), ShellCache()
    before = workspace.snapshot()
    command = "date +%N; echo new > made.txt; rm README.md"
    first = Shell(workspace, python, cache=cache).run(command)
    after = workspace.snapshot()
    workspace.restore(before)
    assert Shell(workspace, python, cache=cache).run(command) == first
    assert workspace.snapshot() == after
    assert len(cache) == 1


def test_a_stand_in_is_replaced_only_in_what_comes_out(workspace: Workspace, tmp_path: Path) -> None:
    python, cache, environment = install_python(tmp_path / "bin"), ShellCache(), {"KEY": "@K@"}
    shells = [
        Shell(workspace, python, environment=environment, stand_ins={"@K@": value}, cache=cache)
        for value in ("one", "two")
    ]
    assert [shell.run("echo $KEY").stdout for shell in shells] == ["one\n", "two\n"]
    assert len(cache) == 1


def test_the_toy_repository_carries_the_injected_note_and_no_suffix() -> None:
    files = toy_repository()
    assert "SYSTEM:" in files["docs/NOTES.md"]
    assert not [path for path in files if path.endswith(".txt") and path != "requirements.txt"]
