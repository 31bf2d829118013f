"""Fuzzes the reader and the importers until something breaks or the time is over.

libFuzzer (by way of Atheris) changes files, follows what code they reach, and keeps those that reach more in the
first folder that is named. It begins with one small file of every format.

    python -m scripts.fuzz_reader [FOLDER ...] [-max_total_time=SECONDS] [-runs=N]
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> None:
    """Runs the fuzzer; what it finds it writes to the working folder (``crash-...``), with the error above it."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["ledgerkit.importers"]):
        from tests.damage.fuzzing import check
        from tests.damage.samples import SAMPLES
    with tempfile.TemporaryDirectory() as folder:
        seeds, path = Path(folder) / "seeds", Path(folder) / "log.json"
        for sample in SAMPLES:
            sample.write(seeds)
        options = arguments if any(not argument.startswith("-") for argument in arguments) else [*arguments, folder]

        def target(raw: bytes) -> None:
            check(bytes(raw), path)

        atheris.Setup([sys.argv[0], *options, str(seeds)], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
