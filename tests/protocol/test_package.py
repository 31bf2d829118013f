"""The protocol stands on pydantic and the standard library alone, and its public names are what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ledgerkit.errors
from ledgerkit.protocol import names as protocol

LOADER = """
import sys, types
package = types.ModuleType("ledgerkit")
package.__path__ = [sys.argv[1]]
sys.modules["ledgerkit"] = package
before = set(sys.modules)
import ledgerkit.protocol.names
print("\\n".join(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""
OF_PYDANTIC = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}


def test_importing_the_protocol_loads_pydantic_and_the_standard_library_only() -> None:
    root = str(Path(ledgerkit.errors.__file__).parent)
    found = subprocess.run([sys.executable, "-c", LOADER, root], capture_output=True, check=True, text=True)
    loaded = {name for name in found.stdout.split() if not name.startswith("_sysconfigdata")}
    foreign = loaded - sys.stdlib_module_names - OF_PYDANTIC - {"ledgerkit"}
    assert "pydantic" in loaded
    assert foreign == set()


def test_every_public_name_is_there_and_named_once() -> None:
    assert len(set(protocol.__all__)) == len(protocol.__all__)
    assert all(hasattr(protocol, name) for name in protocol.__all__)
