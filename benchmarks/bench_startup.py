"""What ``import ledgerkit`` costs, as a ratio to importing Polars, DuckDB and pydantic in the same rounds."""

from __future__ import annotations

import statistics
import subprocess
import sys

ROUNDS = 11
_TIMED = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
_FLOOR = "polars, duckdb, pydantic"


def _seconds(modules: str) -> float:
    done = subprocess.run([sys.executable, "-c", _TIMED.format(modules)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Prints the medians of some interleaved rounds."""
    _seconds(_FLOOR)
    _seconds("ledgerkit")
    rounds = [(_seconds(_FLOOR), _seconds("ledgerkit")) for _ in range(ROUNDS)]
    floor, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(ours / floor for floor, ours in rounds)
    print(f"import {_FLOOR}: {floor:.3f} CPU s; import ledgerkit: {ours:.3f} CPU s; ratio {ratio:.2f} (goal: 1.30)")


if __name__ == "__main__":
    main()
