"""Three promises, kept by every format: no record aborts an import, no id hides one, usage stays with its model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import ledgerkit as lk
from tests.builders import Log, text, usage
from tests.conftest import NOW
from tests.damage.samples import DOCUMENTS, LINES, SAMPLES, Sample, archive_sample
from tests.importers.atif import test_atif as atif
from tests.importers.codex.rollouts import Rollout
from tests.importers.gemini_cli import test_gemini_cli as gemini
from tests.importers.inspect_ai import logs as inspect_logs
from tests.importers.mini_swe_agent import test_mini_swe_agent as mini
from tests.importers.openhands import test_openhands as openhands
from tests.importers.otel import test_otel as otel
from tests.importers.pi import test_pi as pi
from tests.importers.test_ledgerkit_jsonl import CALL, HEADER, MODEL, message, part, run_line

# No record aborts an import


def test_a_rejected_record_of_any_format_aborts_no_import(tmp_path: Path, ledger: lk.Ledger) -> None:
    """Each format's file with one line that is no record, and each document with its end cut off, in one import."""
    folder = tmp_path / "logs"
    for sample in LINES:
        head, _, rest = sample.content.partition(b"\n")
        sample.write(folder).write_bytes(head + b'\n{"cut": "of\n' + rest)
    for sample in (*DOCUMENTS, archive_sample()):
        sample.write(folder / "whole")
        sample.write(folder / "cut").write_bytes(sample.content[: len(sample.content) * 2 // 3])
    account = ledger.import_logs(folder, redact="off", now=NOW)
    assert account.closes
    damaged = account.damage.filter(account.damage["reason"].str.starts_with("not JSON"))
    assert set(damaged["path"]) >= {str(folder / sample.name / (sample.file_name or "log.json")) for sample in LINES}
    assert set(damaged.filter(damaged["line"] == 2)["offset"]) == {sample.content.index(b"\n") + 1 for sample in LINES}
    read = set(account.details["path"])
    for sample in (*DOCUMENTS, archive_sample()):
        name = Path(sample.name) / (sample.file_name or "log.json")
        assert str(folder / "whole" / name) in read
        assert str(folder / "cut" / name) in {*read, *account.unsupported}
    formats = ledger.sql("select distinct source_format from runs")["source_format"].to_list()
    assert set(formats) == {sample.log_format for sample in SAMPLES}


# No id hides a record


REPEATED: Final[dict[str, tuple[bytes, bytes]]] = {
    "claude-code": (b"Now the tests", b"Not the tests"), "codex": (b"a.py", b"other.py"),
    "pi": (b"step 1", b"step one"), "gemini-lines": (b'"output": "a"', b'"output": "b"'),
    "otel-lines": (b"Rain.", b"Sun."), "openhands-events": (b'"a 4"', b'"b 4"'),
    "chat-rows": (b"task 3", b"task three"), "atif-rows": (b"Fix it.", b"Mend it."),
    "ledgerkit-jsonl": (b"Look closer.", b"Look away."),
    "openhands-rows": (b'\\u00e91', b'\\u00e9 one'),
}  # fmt: skip
"""Words of one line, and others in their place: it then has the ids of another record, and says something else."""


def _with_repeated_id(sample: Sample) -> tuple[bytes, bytes]:
    """The line that says something else under an id that was there, and the file with it behind the original."""
    before, after = REPEATED[sample.name]
    lines = sample.content.removesuffix(b"\n").split(b"\n")
    at = next(number for number, line in enumerate(lines) if before in line)
    other = lines[at].replace(before, after)
    return other, b"".join(line + b"\n" for line in [*lines[: at + 1], other, *lines[at + 1 :]])


@pytest.mark.long
@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_id_is_never_skipped_silently(name: str, tmp_path: Path, ledger: lk.Ledger) -> None:
    """Another content under a known id is in the history, or the account says of it by which rule it is not."""
    sample = next(each for each in LINES if each.name == name)
    with lk.open(tmp_path / "once", key=bytes(32)) as once:
        plain = once.import_logs(sample.write(tmp_path / "a"), redact="off", now=NOW)
    other, content = _with_repeated_id(sample)
    path = sample.write(tmp_path / "b")
    path.write_bytes(content)
    account = ledger.import_logs(path, redact="off", now=NOW)
    assert account.closes
    assert account.records > plain.records
    after = REPEATED[name][1].decode("unicode_escape").strip('"')
    told = ledger.sql(
        "select count(*) from parts where contains(coalesce(text, ''), $t) or contains(coalesce(data, ''), $t)",
        {"t": after.removeprefix('output": "')},
    ).item()
    reasons = account.details.filter(account.details["fate"] == "skipped")["reason"].to_list()
    assert told or (account.skipped > plain.skipped and all(reasons)), other


def test_an_exact_repetition_is_counted_as_what_it_is(tmp_path: Path, ledger: lk.Ledger) -> None:
    for sample in LINES:
        lines = sample.content.removesuffix(b"\n").split(b"\n")
        sample.write(tmp_path / "logs").write_bytes(b"".join(line + b"\n" + line + b"\n" for line in lines))
    account = ledger.import_logs(tmp_path / "logs", redact="off", now=NOW)
    assert account.closes
    with lk.open(tmp_path / "once", key=bytes(32)) as ledger_once:
        for sample in LINES:
            sample.write(tmp_path / "plain")
        once = ledger_once.import_logs(tmp_path / "plain", redact="off", now=NOW)
    counts = account.formats.join(once.formats, on="format", suffix="_once")
    assert (counts["records"] > counts["records_once"]).all()


# Usage goes to the model that answered


def _claude() -> list[Any]:
    log = Log("two models")
    log.asks()
    log.answers(text("a"), call="m1", used=usage(10, 1), model="model-a")
    log.answers(text("b"), call="m2", used=usage(20, 2), model="model-b")
    return log.records


def _codex() -> list[Any]:
    log = Rollout()
    for number, model in enumerate("ab", start=1):
        log.add("turn_context", cwd="/work", model=f"model-{model}", turn_id=f"t{number}")
        log.typed(f"Do {model}.")
        log.message("assistant", model)
        log.count(10 * number, 0, number)
    return log.lines


def _pi() -> list[Any]:
    log = pi.Tree()
    log.user("Do it.")
    for number, model in enumerate("ab", start=1):
        used = {"input": 10 * number, "output": number, "cacheRead": 0, "cacheWrite": 0}
        log.answer(pi.words(model), model=f"model-{model}", usage=used)
    return log.lines


def _gemini() -> list[Any]:
    used = [{"input": 10 * n, "output": n, "cached": 0, "thoughts": 0, "tool": 0, "total": 11 * n} for n in (1, 2)]
    answers = [gemini.gemini(f"g{n}", "x", model=f"model-{m}", tokens=used[n]) for n, m in enumerate("ab")]
    return [gemini.HEADER, gemini.user("u1", "Do it."), *answers]


def _otel() -> list[Any]:
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "x"}]}])
    spans = [
        otel.flat(f"chat {m}", n, {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "router", "gen_ai.response.model": f"model-{m}",
            "gen_ai.usage.input_tokens": 10 * n, "gen_ai.usage.output_tokens": n, "gen_ai.output.messages": said,
        }) for n, m in enumerate("ab", start=1)
    ]  # fmt: skip
    return [otel.export(*spans)]


def _openhands_row() -> list[Any]:
    usages = [
        {"model": f"model-{m}", "prompt_tokens": 10 * n, "completion_tokens": n, "response_id": f"r{n}"}
        for n, m in enumerate("ab", start=1)
    ]
    history = [openhands.action(0, "message", "user", args={"content": "Do it."})]
    for n, m in enumerate("ab", start=1):
        (call,) = openhands.asked((f"c{n}", "execute_bash", {"command": m}), response=f"r{n}")
        call["model_response"]["model"] = f"model-{m}"
        history.append(openhands.action(n, "run", args={"command": m}, tool_call_metadata=call))
    return [{"instance_id": "i", "history": history, "metrics": {"token_usages": usages}, "test_result": {}}]


def _chat() -> list[Any]:
    return [
        {"request": {"model": "router", "messages": [{"role": "user", "content": "Do it."}]},
         "response": {"model": f"model-{m}", "usage": {"prompt_tokens": 10 * n, "completion_tokens": n},
                      "choices": [{"message": {"role": "assistant", "content": "x"}}]}}
        for n, m in enumerate("ab", start=1)
    ]  # fmt: skip


def _atif() -> list[Any]:
    steps = [
        atif.agent("x", model_name=f"model-{m}", metrics={"prompt_tokens": 10 * n, "completion_tokens": n})
        for n, m in enumerate("ab", start=1)
    ]
    return [atif.trajectory(atif.user("Do it."), *steps, session_id="s")]


def _inspect() -> list[Any]:
    user = inspect_logs.message("user", "Do it.", source="input")
    events: list[Any] = []
    told: list[Any] = [user]
    for n, m in enumerate("ab", start=1):
        answer = inspect_logs.message("assistant", m, id=f"a{n}", source="generate", model=f"model-{m}")
        asked = inspect_logs.asked(list(told), answer, used=inspect_logs.usage(10 * n, n), model=f"x/model-{m}")
        asked["output"]["model"] = f"model-{m}"
        events.append(asked)
        told.append(answer)
    return [inspect_logs.log(inspect_logs.sample(events, told))]


def _mini() -> list[Any]:
    answers = [
        {"role": "assistant", "content": "x", "extra": {"response": {
            "id": f"r{n}", "model": f"model-{m}", "usage": {"prompt_tokens": 10 * n, "completion_tokens": n}}}}
        for n, m in enumerate("ab", start=1)
    ]  # fmt: skip
    return [mini.envelope([*mini.OPENING, *answers])]


def _own() -> list[Any]:
    answers = [
        message(n, part(m, **MODEL), kind="ASSISTANT_RESPONSE", actor="m", step=n - 1, visible_from=n, call={
            **CALL, "call_id": f"c{n}", "model": f"model-{m}", "usage": {"input_tokens": 10 * n, "output_tokens": n}})
        for n, m in enumerate("ab", start=1)
    ]  # fmt: skip
    return [HEADER, run_line(), message(0), *answers]


TWO_MODELS: Final[dict[str, Callable[[], list[Any]]]] = {
    "claude-code": _claude, "codex": _codex, "pi": _pi, "gemini-cli": _gemini, "otel": _otel,
    "openhands": _openhands_row, "chat": _chat, "atif": _atif, "inspect": _inspect, "mini-swe-agent": _mini,
    "ledgerkit-jsonl": _own,
}  # fmt: skip
"""A log of each format that has usage by the call (SWE-agent has only sums of a run), in which two models answered."""


@pytest.mark.parametrize("log_format", TWO_MODELS)
def test_usage_goes_to_the_model_that_answered(log_format: str, tmp_path: Path, ledger: lk.Ledger) -> None:
    path = tmp_path / "log.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in TWO_MODELS[log_format]()), "utf-8")
    account = ledger.import_logs(path, redact="off", now=NOW)
    assert account.formats["format"].to_list() == [log_format]
    billed = "select model, input_tokens, output_tokens from model_calls where billed order by 1"
    assert ledger.sql(billed).rows() == [("model-a", 10, 1), ("model-b", 20, 2)]
