"""What claims are read from: sentences with what stands around them, words inside calls, names, and frames of parts."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from ledgerkit.extract.claims import CLAIM_SCHEMA, EXTRACTOR_VERSION, claims_frame
from ledgerkit.extract.claims.arguments import words_of
from ledgerkit.extract.claims.moods import is_said
from ledgerkit.extract.claims.units import CODE, QUOTED, Unit, code_spans, mask, units
from ledgerkit.extract.claims.values import is_command, named_files, number_of, path_of, paths_in


def read(text: str) -> list[str]:
    """The units of a text: kind, marks, what leads to them, and their words."""
    return [_shown(one) for one in units(text)]


def _shown(one: Unit) -> str:
    marks = [one.kind] + ["ticked"] * one.is_ticked + ["planned"] * one.is_planned
    return f"{' '.join(marks)} <{one.lead}> {one.text}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "One.\nTwo lines\nof it. e.g. this one. A. B said.",
            [
                "sentence <> One.", "sentence <> Two lines\nof it.", "sentence <> e.g. this one.",
                "sentence <> A. B said.",
            ],
        ),
        ("Really?! Yes… No!", ["sentence <> Really?!", "sentence <> Yes…", "sentence <> No!"]),
        ("Is it so? Yes!", ["sentence <> Is it so?", "sentence <> Yes!"]),
        (
            "Fix this\nAnd that\nbut\n3 more",
            ["sentence <> Fix this", "sentence <> And that\nbut", "sentence <> 3 more"],
        ),
        (
            "# Plan\n- a\n- [x] b\n## Done\n- c\n",
            [
                "heading <Plan> Plan", "bullet planned <Plan> a", "bullet ticked <Plan> b", "heading <Done> Done",
                "bullet <Done> c",
            ],
        ),
        (
            "What I changed:\n- a\n\n- b\nAfter.\n- c",
            [
                "sentence <> What I changed:", "bullet <What I changed:> a", "bullet <What I changed:> b",
                "sentence <What I changed:> After.", "bullet <> c",
            ],
        ),
        (
            "Next steps:\n- a\n- [~] b\n- [-] c\n- [ ] d\n- [X] e\n- [✔] f\n",
            [
                "sentence <> Next steps:", "bullet planned <Next steps:> a", "bullet ticked <Next steps:> e",
                "bullet ticked <Next steps:> f",
            ],
        ),
        ("What I did and will do:\n- a", ["sentence <> What I did and will do:", "bullet <What I did and will do:> a"]),
        ("Intro **bold:**\n- x", ["sentence <> Intro **bold:", "bullet <Intro **bold:> x"]),
        ("One\ntwo:\n- x", ["sentence <> One\ntwo:", "bullet <two:> x"]),
        (
            "# Summary\nIt works.\n# Verification\nIt works.",
            [
                "heading <Summary> Summary", "sentence <Summary> It works.", "heading <Verification> Verification",
                "sentence planned <Verification> It works.",
            ],
        ),
        ("Next:\n# A\n- a", ["sentence <> Next:", "heading <A> A", "bullet <A> a"]),
        ("To do:\n| A | B |\n|---|:--|\n", ["sentence <> To do:", "row planned <To do:> | A | B |"]),
        ("text\n| no row\nmore |\n|\n", ["sentence <> text\n| no row\nmore |\n|"]),
        ("1. one\n2) two\n+ three\n• four", ["bullet <> one", "bullet <> two", "bullet <> three", "bullet <> four"]),
        ("See ✅ done. And ☑ this. Not this.",
         ["sentence ticked <> See ✅ done.", "sentence ticked <> And ☑ this.", "sentence <> Not this."]),
        ("x\n```py\na\n~~~\n```\ny", ["sentence <> x", "sentence <> y"]),
        ("~~~~\na\n~~~\nb\n~~~~ no\n~~~~~\nc", ["sentence <> c"]),
        ("```\nnever closed", []),
        ("> said\n<!-- hidden -->\n├── a.py\n└── b.py\nend", ["sentence <> end"]),
        ("text\n    goes on", ["sentence <> text\n    goes on"]),
        ("    code\n\ntext\n    goes on", ["sentence <> text\n    goes on"]),
        ("\tcode\n\nSteps:\n\n    deep", ["sentence <> Steps:", "sentence <Steps:> deep"]),
        ("x" * 4_001 + "\nshort", ["sentence <> short"]),
        ("x" * 3_999 + "\nshort", ["sentence <> " + "x" * 3_999 + "\nshort"]),
        ("- Here. There.\n- c", ["bullet <> Here.", "bullet <> There.", "bullet <> c"]),
    ],
)  # fmt: skip
def test_a_text_is_read_sentence_by_sentence_with_what_leads_to_each(text: str, expected: list[str]) -> None:
    assert read(text) == expected


def test_places_are_those_of_the_text_as_it_was_written() -> None:
    text = "# Head\n\n  First one.  Second.\n- [x]  ticked `a`\n| a | b |\n"
    assert [(one.start, one.end, text[one.start : one.end]) for one in units(text)] == [
        (2, 6, "Head"), (10, 20, "First one."), (22, 29, "Second."), (37, 47, "ticked `a`"), (48, 57, "| a | b |"),
    ]  # fmt: skip
    assert units(text)[-1].masked == ": a : b :"
    assert [code_spans(one) for one in units(text)][3] == [(7, 10, "a")]


def test_only_the_beginning_of_a_very_long_text_is_read() -> None:
    text = ("x" * 99 + "\n") * 2_000 + "All tests pass."
    assert units(text)[-1].end == 199_999
    assert units(text[1:])[-1].end == 200_000


def test_code_quotations_and_emphasis_are_covered_where_they_stand() -> None:
    shown = mask('a `b` ``c``  "quoted" “so” «so» x *y* __z__ snake_case ~~no~~ it\'s')
    assert shown.replace(CODE, "c").replace(QUOTED, "q") == (
        "a ccc ccccc  qqqqqqqq qqqq qqqq x  y    z   snake_case   no   it's"
    )


# Words inside calls


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("Bash", {"command": "git commit -m 'T' -m 'B' && git push"}, "T\n\nB"),
        ("Bash", {"cmd": ["git", "commit", "-m", "All pass"]}, "All pass"),
        ("Bash", {"command": "git commit -m \"$(cat <<'EOF'\nT\n\nB.\nEOF\n)\""}, "T\n\nB."),
        ("Bash", {"command": "gh pr create --title \"T \\$1\" --body 'B'"}, "T $1\n\nB"),
        ("Bash", {"command": "git commit --message='m' -t \"t\""}, "m\n\nt"),
        ("Bash", {"command": "git commit -m \"\" -m 'B'"}, "B"),
        ("Bash", {"command": "ls -m 'x'"}, None),
        ("Bash", {"message": "git commit"}, None),
        (None, {"command": "git commit -m 'm'"}, "m"),
        ("Task_Complete", {"result": "ok", "command": "git commit -m 'm'"}, "ok"),
        ("submit_it", {"message": " ", "n": 1}, None),
        (
            "finish",
            {name: name[0] for name in reversed(("title", "message", "text", "summary", "result", "body"))}
            | {"output": "o", "answer": "a", "description": "d", "other": "x", "number": 1},
            "t\n\nm\n\nt\n\ns\n\nr\n\nb\n\nd\n\na\n\no",
        ),
    ],
)
def test_words_for_people_are_found_in_the_arguments_of_a_call(
    tool: str | None, arguments: dict[str, Any], said: str | None
) -> None:
    assert words_of(tool, json.dumps(arguments)) == said


# Names


def test_what_names_a_file_a_number_or_a_command() -> None:
    named = {"a.py:3": "a.py", "a.py#L3-L9": "a.py", "a.py(4)": "a.py", " a.py., ": "a.py", "src\\a.py": "src\\a.py"}
    assert {text: path_of(text) for text in named} == named
    for text in ("", "a b.py", "https://x/a.py", "*.py", "Node.js", "v1.2", "e.g", "x.nothing", "a" * 301 + ".py"):
        assert path_of(text) is None
    (unit,) = units('See src/a.py, b.py: and `c.py:12`. in b.py "d.py" x/`e` http://x.org/f.py')[:1]
    assert list(named_files(unit)) == [(24, 33, "c.py"), (4, 12, "src/a.py"), (14, 18, "b.py")]
    assert list(named_files(units("See b.py.")[0])) == [(4, 8, "b.py")]
    assert paths_in(units("`a.py` a.py b.py a.py")[0]) == ["a.py", "b.py"]
    assert [number_of(text) for text in ("no", "Zero", "twelve", "1,000,000")] == [0, 0, 12, 1_000_000]
    assert [is_command(text) for text in ("npm run lint", "cargo test", "make", "x = 1")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("it HERE", True),
        ("if so, but it HERE", True),
        ("it will, it HERE", False),
        ("it HERE?", False),
        ("it HERE** ?_", False),
        ("users say it HERE", False),
        ("hooks make it HERE", True),
        ("it is not HERE", False),
        ("Run it HERE", False),
        ("Run: it HERE", True),
        ("it HERE if so", False),
        ("it is not HERE; so it is", False),
        ("it HERE. if so", True),
    ],
)
def test_what_is_not_said_as_a_fact_is_known_by_its_clause(text: str, said: bool) -> None:
    (unit, *_) = units(text)
    start = unit.masked.index("HERE")
    assert is_said(unit, start, start + 4) is said


def test_a_denial_or_another_actor_may_be_allowed() -> None:
    (denied,) = units("it is not HERE")
    assert is_said(denied, 10, 14, is_denial_open=True)
    (others,) = units("Users say it HERE")
    assert not is_said(others, 13, 17, allow="users")  # they say it, too
    (others,) = units("Users it HERE")
    assert is_said(others, 9, 13, allow="users")
    (inner,) = units("it not HERE")
    assert not is_said(inner, 3, 11)
    assert is_said(inner, 3, 11, is_denial_open=True)
    (order,) = units("Run it HERE")
    assert is_said(order, 0, 11)  # what is said begins with the order itself
    assert not is_said(order, 1, 11)
    (soft,) = units("first it can be without HERE")
    assert is_said(soft, 0, 28)


# Frames


def parts(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of the view ``parts``, as a model's answers unless they say otherwise."""
    kept = {name: CLAIM_SCHEMA[name] for name in ("session_id", "run_id", "message_id", "sequence_no", "part_index")}
    names = ("kind", "part_trust_level", "text", "tool_name", "tool_call_id", "data", "part_type")
    schema = {**kept, "step": pl.Int32, **dict.fromkeys(names, pl.String)}
    usual = {"kind": "ASSISTANT_RESPONSE", "part_trust_level": "MODEL_GENERATED", "part_type": "text", "part_index": 0}
    keys = {"session_id": "s", "run_id": "r", "step": 3}
    whole = [keys | usual | {"sequence_no": n, "message_id": f"m{n}"} | row for n, row in enumerate(rows)]
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in whole], schema)


def test_claims_of_parts_are_rows_in_the_order_of_the_messages() -> None:
    call = {"part_type": "tool_call", "kind": "TOOL_CALL_REQUEST", "tool_call_id": "c", "tool_name": "Bash"}
    rows = parts(
        {"text": "All 3 tests pass. I updated `a.py`."},
        {"text": "All tests pass.", "kind": "AGENT_THOUGHT_SUMMARY", "part_type": None},
        {"text": "All tests pass.", "kind": "USER_TASK"},
        {"text": "All tests pass.", "part_trust_level": "USER_TRUSTED"},
        {"text": "All tests pass", "kind": "RUN_SUMMARY"},
        {"text": "All tests pass.", "kind": "RUN_SUMMARY"},
        {**call, "data": json.dumps({"command": "git commit -m 'Lint is clean.'"})},
        {**call, "data": json.dumps({"command": "git commit -m 'Lint is clean.'"}), "part_trust_level": "UNKNOWN"},
        {**call, "data": '{"message": "Tests pass."}', "tool_name": "submit", "text": "All tests pass."},
        {"text": "Nothing to see.", "tool_call_id": "x", "tool_name": "submit", "data": '{"message": "Tests pass."}'},
        {"text": "I ran `npm test`.", "tool_call_id": "x"},
    )
    found = claims_frame(rows.reverse())
    assert found.schema == pl.Schema(CLAIM_SCHEMA)
    assert set(found["extractor_version"]) == {EXTRACTOR_VERSION}
    assert found.select("message_id", "tool_call_id", "start", "end", "text", "subject").rows() == [
        ("m0", None, 0, 16, "All 3 tests pass", "test"),
        ("m0", None, 18, 34, "I updated `a.py`", "modify"),
        ("m1", None, 0, 14, "All tests pass", "test"),
        ("m5", None, 0, 14, "All tests pass", "test"),
        ("m6", "c", 0, 13, "Lint is clean", "lint"),
        ("m8", "c", 0, 10, "Tests pass", "test"),
        ("m10", None, 2, 16, "ran `npm test`", "ran"),
    ]
    row = found.row(0, named=True)
    assert (row["session_id"], row["run_id"], row["sequence_no"], row["part_index"], row["step"]) == ("s", "r", 0, 0, 3)
    assert found.select("claim_class", "polarity", "scope", "numbers", "paths", "commands").rows()[:2] == [
        ("verdict", "positive", "all", [3], [], []),
        ("files", "positive", "unsaid", [], ["a.py"], []),
    ]
    assert found["commands"][-1].to_list() == ["npm test"]


def test_claims_are_sorted_by_message_and_place() -> None:
    text = "I changed 3 files; the failing tests were pre-existing."
    places = [
        (session, run, number, index) for session in "st" for run in "qr" for number in (1, 10) for index in (0, 2)
    ]
    names = ("session_id", "run_id", "sequence_no", "part_index")
    rows = parts(*({**dict(zip(names, place, strict=True)), "text": text} for place in places))
    expected = [(*place, subject) for place in places for subject in ("test", "files changed")]
    assert claims_frame(rows.reverse()).select(*names, "subject").rows() == expected
    assert claims_frame(rows.sample(fraction=1, shuffle=True, seed=1)).equals(claims_frame(rows))


def test_without_the_columns_of_calls_only_texts_are_read() -> None:
    rows = parts({"text": "Tests pass."}, {"text": "Tests pass.", "part_type": "tool_call", "tool_call_id": "c"})
    for name in ("tool_name", "tool_call_id", "data", "part_type"):
        found = claims_frame(rows.drop(name))
        assert found.select("message_id", "tool_call_id").rows() == [("m0", None), ("m1", None)]
    assert claims_frame(parts()).schema == pl.Schema(CLAIM_SCHEMA)


def test_a_failure_that_was_there_before_is_no_verdict_too() -> None:
    rows = parts({"text": "The tests are failing, but that is pre-existing and lint is clean."})
    assert claims_frame(rows)["claim_class"].to_list() == ["baseline"]


@pytest.mark.parametrize("text", ["I have not fixed the failing test.", "The bug was not fixed.", "Is the bug fixed?"])
def test_what_is_denied_or_asked_is_no_repair(text: str) -> None:
    assert "fixed" not in claims_frame(parts({"text": text}))["claim_class"].to_list()


def test_all_failures_are_more_than_some() -> None:
    found = claims_frame(parts({"text": "Fixed ALL failing tests."}, {"text": "Fixed the failing tests."}))
    assert found["scope"].to_list() == ["all", "unsaid"]
