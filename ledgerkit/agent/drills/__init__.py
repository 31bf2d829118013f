"""The four failure drills of the specification (§24), each on a fresh ledger with a real agent at work."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ledgerkit.agent.drills import injection, invention, long_log, lost_result
from ledgerkit.agent.drills.report import Drill, DrillReport, Point
from ledgerkit.errors import UnknownNameError

DRILLS: Final = MappingProxyType(
    {drill.number: drill for drill in (long_log.DRILL, injection.DRILL, invention.DRILL, lost_result.DRILL)}
)
"""The drills by number."""


def run_drill(number: int, folder: Path | None = None, *, broken: bool = False) -> DrillReport:
    """Carries out a drill.

    Args:
        number: 1 to 4.
        folder: An empty folder to keep what the drill leaves, the ledger ``drill.ledger`` above all; a temporary one
            if not given.
        broken: Take the safeguard away, so that the drill must fail: it shows that its checks can.

    Raises:
        UnknownNameError: If there is no such drill.
        FileExistsError: If the folder holds something.
    """
    if number not in DRILLS:
        raise UnknownNameError.among("drill", str(number), [str(one) for one in DRILLS])
    drill = DRILLS[number]
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="ledgerkit-drill-") as name:
            return DrillReport(drill, tuple(drill.carry_out(Path(name), broken)), broken)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty. A drill wants a fresh folder.")
    return DrillReport(drill, tuple(drill.carry_out(folder, broken)), broken)


__all__ = ["DRILLS", "Drill", "DrillReport", "Point", "run_drill"]
