"""What each command prints with ``--json``, by the name of its schema.

One rule: a shape is read off the answer that the command prints, never written down a second time. What stands here by
hand is the frame around it, and the tests hold real outputs against all of it.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.protocol.memory import WorkingMemory
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.protocol.vocabulary import ArtifactLabel
from ledgerkit.replay.divergence import Parting
from scripts.output_schemas import caring, judged, shapes
from scripts.output_schemas.sample import Sample
from scripts.output_schemas.shapes import (
    COUNT,
    IDENTITY,
    MONEY,
    PLACE,
    TEXT,
    YES_OR_NO,
    Output,
    Shape,
    closed,
    nullable,
    row,
    rows,
    several,
    typed,
)  # fmt: skip

_ONE_OF_CALLS: Final = "model"
_ONE_OF_PARTS: Final = "tool"


def outputs(sample: Sample) -> dict[str, Output]:
    """All of them by name, except that of comparisons, which has its own program."""
    return {
        **_of_runs(sample), **_of_replays(sample), **_of_costs(sample), **caring.outputs(sample),
        **judged.outputs(sample),
    }  # fmt: skip


def _of_runs(sample: Sample) -> dict[str, Output]:
    ledger, run = sample.ledger, sample.run
    runs = row(ledger.runs().schema, IDENTITY)
    shown = {
        "run": row(ledger.runs().drop("last_check").schema, IDENTITY),
        "parts": rows(run.parts(), PLACE),
        "withheld": rows(sample.withheld, ["withheld"]),
        "verifier_results": rows(run.verifier_results(), PLACE),
        "children": rows(run.children(), IDENTITY),
    }
    message = typed(AgentMessage)
    message["properties"]["withheld"] = COUNT
    del message["properties"]["parts"]["minItems"]  # all of them may be withheld
    message["required"] = [*message["required"], "withheld"]
    artifact = {
        "artifact": TEXT, "media_type": TEXT, "label": {"enum": [one.value for one in ArtifactLabel]}, "bytes": COUNT,
        "withheld": YES_OR_NO, "text": {"type": ["string", "null"]},
    }  # fmt: skip
    return {
        "runs": Output("runs", "A row per run.", several(runs)),
        "show-run": Output("show RUN", "What is known of a run, the parts of its messages, and verdicts on its work. "
                           "-n counts messages.", closed(shown)),
        "show-message": Output("show MESSAGE", "A message, and how many of its parts are withheld.", message),
        "show-artifact": Output("show artifact:ID", "An artifact; text is null if it is none, or withheld.",
                                closed(artifact)),
        "search": Output("search TEXT", "A row per place.", rows(ledger.search("the"), ("run_id", *PLACE[2:]))),
        "context": Output("context RUN", "The request and what it is made of. With --provider: the request in the form "
                          "of that provider, which has no schema here.", _context(sample)),
        "memory": Output("memory RUN", "The working memory; always whole.", typed(WorkingMemory)),
        "memory-compactions": Output("memory --compactions", "A row per item of a recorded summary.",
                                     rows(ledger.check_compactions(), (*PLACE, "verdict"))),
        "claims": Output("claims", "A row per claim.", shapes.claims(ledger.check_claims())),
        "sql": Output("sql QUERY", "The rows of the query, with its columns.",
                      several({"type": "object", "description": "A value per column; lists and structs are nested."})),
        "sql-tables": Output("sql --tables", "A row per table and view.", rows(ledger.describe(), ["name"])),
        "sql-columns": Output("sql --tables NAME", "A row per column.", rows(ledger.describe("runs"), ["column"])),
    }  # fmt: skip


def _context(sample: Sample) -> Shape:
    context = sample.ledger.project(sample.run_id)
    return closed({
        "request": typed(LlmRequest), "digest": TEXT, "tokens": COUNT, "sections": rows(context.sections),
        "account": rows(context.account), "tools": rows(context.tools), "questions": rows(context.questions),
    })  # fmt: skip


def _of_replays(sample: Sample) -> dict[str, Output]:
    ledger, replay = sample.ledger, sample.run.replay()
    parts = rows(replay.parts, PLACE)
    step = closed({
        "step": COUNT, "call": row(sample.run.calls().schema, IDENTITY), "visible_parts": COUNT,
        "visible_tokens": COUNT, "spent": MONEY, "unpriced": COUNT, "entered": parts, "wrote": parts,
        "came_back": parts, "beside": parts, "visible": parts, "verdicts": rows(replay.verdicts, PLACE),
    }, optional=["visible"])  # fmt: skip
    found = ledger.first_divergence(sample.run_id, sample.other_id)
    deed = nullable(closed({
        "step": {"type": ["integer", "null"]}, "sequence_no": COUNT, "message_id": TEXT,
        "tool_name": {"type": ["string", "null"]}, "text": {"type": ["string", "null"]},
    }))  # fmt: skip
    parting = {name: deed if name in "ab" else COUNT for name in vars(found)}
    parting["what"] = {"enum": [one.value for one in Parting]}
    fidelity = ledger.verify_replay([sample.run_id]).drop(IDENTITY)
    return {
        "replay": Output("replay RUN", "A row per step; visible only with --visible.", several(step)),
        "replay-verify": Output("replay --verify", "A row per format.", rows(ledger.replay_fidelity())),
        "replay-verify-run": Output("replay RUN --verify", "A row per step.", rows(fidelity)),
        "replay-against": Output("replay RUN --against RUN", "Where two runs part; a and b are null where one had "
                                 "ended.", closed(parting)),
        "page": Output("report, replay RUN --html", "The page that was written.",
                       closed({"path": TEXT, "bytes": COUNT})),
    }  # fmt: skip


def _of_costs(sample: Sample) -> dict[str, Output]:
    ledger = sample.ledger
    leaves = ledger.cost(by=_ONE_OF_CALLS, leaves=True).drop(_ONE_OF_CALLS).schema
    always = ledger.cost(by=_ONE_OF_CALLS).columns
    calls = row(leaves)
    calls["required"] = [name for name in calls["required"] if name in always]
    parts = row(ledger.cost(by=_ONE_OF_PARTS).drop("tool_name").schema)
    compared = row(ledger.reconcile_costs(_ONE_OF_CALLS).drop(_ONE_OF_CALLS).schema)
    for one in (calls, parts, compared):
        one["additionalProperties"] = {
            "type": ["string", "integer", "null"],
            "description": "A label of --by, by its full name; a day is a text.",
        }
    fleet = {name: rows(ledger.fleet().frame(name)) for name in ("trends", "failures", "cost_drivers", "claims")}
    return {
        "cost": Output("cost", "With labels of calls and runs, a row per combination. The columns cost_… are there "
                       "with --leaves.", several(calls)),
        "cost-parts": Output("cost --by tool,…", "With a label of what stood in the context, a row per combination of "
                             "labels and line; line names what is the cost of no part.", several(parts)),
        "cost-explain": Output("cost --explain", "A row per usage record.", rows(ledger.explain_usage(), IDENTITY)),
        "cost-waste": Output("cost --waste", "A row per thing that was paid for without need.",
                             rows(ledger.waste(), IDENTITY)),
        "cost-reconcile": Output("cost --reconcile", "A row per combination of labels: reported costs beside computed "
                                 "ones.", several(compared)),
        "fleet": Output("fleet", "The tables of a fleet; its amounts are means and shares, and so numbers.",
                        closed(fleet)),
    }  # fmt: skip
