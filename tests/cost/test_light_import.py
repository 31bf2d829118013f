from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ledgerkit.cost

# The package's own __init__ may load what it likes: this is about ledgerkit.cost alone.
SCRIPT = """
import sys, types
package = types.ModuleType("ledgerkit")
package.__path__ = [sys.argv[1]]
sys.modules["ledgerkit"] = package
import ledgerkit.cost
print(sorted(sys.modules.keys() & {"duckdb", "deltalake", "genai_prices", "pyarrow", "httpx2"}))
"""


def test_importing_cost_loads_neither_storage_nor_the_price_list() -> None:
    package = Path(ledgerkit.cost.__file__).parent.parent
    run = subprocess.run([sys.executable, "-c", SCRIPT, str(package)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
