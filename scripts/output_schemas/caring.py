"""What the commands print that bring logs in, take runs out, and care for a ledger."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from ledgerkit.cli.importing import account_json
from ledgerkit.ingest.labels import LabelAccount
from ledgerkit.store.integrity.proofs import InclusionProof
from ledgerkit.store.removal import Erasure
from scripts.output_schemas.sample import Sample
from scripts.output_schemas.shapes import COUNT, TEXT, TEXTS, YES_OR_NO, Output, Shape, closed, rows, several, typed


def outputs(sample: Sample) -> dict[str, Output]:
    """Their outputs by name."""
    ledger = sample.ledger
    counts = ("messages", "rehashed", "runs", "artifacts", "erased", "journaled", "checkpoints")
    verified = {
        "ok": YES_OR_NO, **dict.fromkeys(counts, COUNT), "limits": TEXTS, "findings": rows(ledger.verify().frame()),
    }  # fmt: skip
    checkpoint = {"tree_size": COUNT, "root": TEXT, "text": TEXT}
    return {
        "import": Output("import", "The account. Without logs (only --labels) nothing but labels is there. With "
                         "--follow, a line like it for every round that brought something.", _import(sample)),
        "demo": Output("demo", "The account of the example runs, and what was written.",
                       closed({"account": _account(sample), "ledger": TEXT, "report": TEXT})),
        "export": Output("export", "What was written, and what the format cannot say.", _export(sample)),
        "verify": Output("verify", "What was looked at and found.", closed(verified)),
        "checkpoint": Output("checkpoint", "The checkpoint; text is what is printed without --json.",
                             closed(checkpoint)),
        "prove": Output("prove MESSAGE (without --json)", "A proof; bytes are hexadecimal.", _proof()),
        "erase": Output("erase", "What was erased.", typed(Erasure)),
        "compact": Output("compact", "A row per partition that was rewritten.", rows(ledger.compact(everything=True))),
        "vacuum": Output("vacuum", "A row per file.", rows(ledger.vacuum(dry_run=True))),
        "info": Output("info", "A row per stored table.", rows(ledger.info(), ["table"])),
        "info-commits": Output("info --commits", "A row per commit.", rows(ledger.commits(), ["version"])),
    }  # fmt: skip


def _account(sample: Sample) -> Shape:
    account = sample.account
    frames = {name: rows(getattr(account, name)) for name in ("details", "damage", "formats", "exposed")}
    return closed({name: frames.get(name) or _plain(name, value) for name, value in account_json(account).items()})


def _import(sample: Sample) -> Shape:
    account = _account(sample)
    labels = {"labels": several(typed(LabelAccount))}
    whole = closed({**account["properties"], **labels}, optional=account["required"])
    return {**whole, "dependentRequired": {"import_id": account["required"]}}


def _plain(name: str, value: object) -> Shape:
    if name == "redaction":
        return {"enum": ["on", "audit", "off"]}
    if name == "closes":
        return {**YES_OR_NO, "description": "Whether the fates of the records add up to the records."}
    by_type: dict[type, Shape] = {
        int: COUNT,
        str: TEXT,
        dict: {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        tuple: TEXTS,
    }
    return by_type[type(value)]


def _export(sample: Sample) -> Shape:
    written = sample.ledger.export(Path(sample.folder) / "atif", format="atif", runs=[sample.run_id])
    counts = dict.fromkeys(("bytes", "runs", "messages"), COUNT)
    return closed({"format": TEXT, "files": TEXTS, **counts, "losses": rows(written.frame(), ["count"])})


def _proof() -> Shape:
    kinds: dict[Any, Shape] = {
        "int": COUNT, "str": TEXT, "bytes": TEXT, "bytes | None": {"type": ["string", "null"]},
        "str | None": {"type": ["string", "null"]}, "tuple[bytes, ...]": TEXTS,
    }  # fmt: skip
    return closed({field.name: kinds[field.type] for field in fields(InclusionProof)})
