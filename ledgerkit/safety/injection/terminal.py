"""Escape sequences that do more than colour."""

from __future__ import annotations

from typing import Final

from ledgerkit.safety.injection.marks import detector

_CSI: Final = "(?:\x1b\\[|\x9b)"
_OSC: Final = "(?:\x1b\\]|\x9d)"
_REST: Final = "[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"

TERMINAL: Final = (
    detector(
        "terminal-command",
        # OSC: palette and its reports, notices, fonts, clipboard, vendors' commands. DCS, SOS, PM, APC.
        # CSI: concealed text, reports that the terminal types back, windows, printers.
        f"{_OSC}(?:4|5|9|1[0-9]|50|51|52|99|777|1337);{_REST}"
        "|\x1b[PX^_][^\x1b\x9c\n]*"
        f"|{_CSI}(?:[0-9]+;)*8m|{_CSI}(?:[56]n|>?[0-9]*c|[0-9]+;[0-9]+;[0-9]+t|[0-9;]*i)",
    ),
    detector(
        "terminal-control",
        f"(?:{_CSI}(?:[0-9;]*[ABCDEFGHJKLMPSTXdfsu@]|\\?[0-9;]+[hl])|{_OSC}[01278];{_REST})+",
    ),
)
"""The detectors. Colours and weights (SGR without 8) are left alone."""
