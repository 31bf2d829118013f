"""``python -m ledgerkit``: the same as ``ledgerkit``."""

from __future__ import annotations

from ledgerkit.cli import main

if __name__ == "__main__":
    main(prog_name="ledgerkit")
