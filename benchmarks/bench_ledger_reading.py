"""Reading a large ledger, against hand-written DuckDB over plain sorted Parquet of the same rows, in the same rounds.

Goals: one session's messages and one message by id within 3 times, a group-by over all within 1.5 times, and memory
that does not grow with the ledger.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.ledgers import PLAIN, build, open_ledger, open_plain

ROUNDS: Final = 9
_NEAR: Final = 3
_GROUPED: Final = 1.5
_FLAT: Final = 1.3
_COLUMNS: Final = "sequence_no, message_id, kind, trust_level, created_at, text, token_count"
_GROUP_BY: Final = "select kind, part_trust_level, count(*), sum(token_count) from {} group by all order by all"
_PEAK: Final = """
def peak():
    with open("/proc/self/status") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) // 1024
"""
_READS: Final = """
import sys
import ledgerkit as lk
session, run, message = sys.argv[2:]
with lk.open(sys.argv[1], create=False) as ledger:
    ledger.sql("select * from messages where session_id = ? order by sequence_no", [session])
    ledger.list_messages(session, run)
    ledger.find_by_id(message)
    ledger.sql("select kind, part_trust_level, count(*), sum(token_count) from parts group by all")
print(peak())
"""
_APPENDS: Final = """
import sys
import ledgerkit as lk
part = {"type": "text", "text": "x" * 600, "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
command = {"session_id": "live", "run_id": "live", "kind": "USER_TASK", "actor": "user", "parts": [part]}
with lk.open(sys.argv[1], create=False) as ledger, ledger.record("live", "live") as recorder:
    for _ in range(1000):
        recorder.append(lk.AppendMessageCommand.model_validate(command))
print(peak())
"""


def main() -> None:
    """Builds what is missing, and compares."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=2_000_000)
    options.add_argument("--cache", type=Path, help="folder in which the ledgers that were built are kept")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root: Path = given.cache or Path(temporary)
        small, large = (root / str(size) for size in (given.messages // 10, given.messages))
        for folder in (small, large):
            if not (folder / PLAIN).exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                build(folder, int(folder.name))
        read(large)
        memory(small, large, Path(temporary))


# Time


def read(folder: Path) -> None:
    """The questions that the goals name."""
    plain, table = open_plain(folder)
    begin = time.perf_counter()
    with open_ledger(folder) as ledger:
        session, run, message = somewhere(ledger)
        print(f"{'open and first answer':44} {(time.perf_counter() - begin) * 1e3:8.1f} ms")
        one_session, one_run = f"session_id = '{session}'", f"session_id = '{session}' and run_id = '{run}'"
        by_id, in_order = f"message_id = '{message}'", "order by run_id, sequence_no, part_index"
        theirs = f"select {_COLUMNS} from {table} where {one_session} {in_order}"
        # The plain file has a row for each part; its messages are put together by hand.
        put_together = f"""
            select {_COLUMNS.replace("text, token_count", "")} count(*) as part_count,
                string_agg(text, chr(10) order by part_index) as text, sum(token_count) as token_count
            from {table} where {{}} group by all order by run_id, sequence_no
        """
        del put_together, theirs, one_run, by_id
