#!/bin/sh
# Installs the built wheel with its runtime dependencies only, outside the checkout, and uses it.
# It shows what the tests cannot: that no module needs a package of the extras, and that the wheel holds its data files.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The wheel is built from the source distribution, as anyone who packs it would.
"$root/.venv/bin/python" -m build --no-isolation --outdir "$work" "$root" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
tar -tzf "$work"/*.tar.gz > "$work/sdist.txt"
for needed in README.md LICENSE CHANGELOG.md Makefile docs/index.md notebooks/ data/ tests/conftest.py requirements/dev.txt; do
  grep -q "^[^/]*/$needed" "$work/sdist.txt" || { echo "The source distribution lacks $needed"; exit 1; }
done
"${1:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --require-hashes -r "$root/requirements/runtime.txt"
"$work/venv/bin/python" -m pip install --quiet --no-deps "$work"/*.whl
"$work/venv/bin/python" -m pip check

cd "$work"
./venv/bin/python - <<'PROGRAM'
import os
import random
import sys

import ledgerkit as lk
from ledgerkit import tokens

extras = {"altair", "anywidget", "distributed", "IPython", "pandas", "scipy", "statsmodels", "toktok"}
assert lk.open("runs.ledger").runs().height == 0
assert tokens.count("hello world") == 2
assert lk.open("runs.ledger").simulate([lk.strategies.FullHistory()]).height == 0
assert tokens.engine_name() == "tiktoken"
os.environ["LEDGERKIT_REDACTION_KEY"] = "public"
secret = "".join(random.Random(1).choices("abcdefghkmnpqrstuvwxyzABCDEFGHKLMNPQRSTUVWXYZ23456789", k=24))
assert secret not in lk.open("runs.ledger").redactor.redact([f"export DB_PASSWORD={secret}"]).texts[0]
assert not extras & set(sys.modules), extras & set(sys.modules)

from ledgerkit.notebook.demo import bundled
from ledgerkit.notebook.hooks import bundle_of

assert len(list(bundled("notebooks").glob("*.ipynb"))) > 5
assert bundled("data").is_dir()
assert "text/html" in bundle_of(lk.open("runs.ledger"))
PROGRAM
./venv/bin/ledgerkit --help
./venv/bin/ledgerkit demo > demo.txt 2>&1 || { cat demo.txt; exit 1; }
grep -q "55 runs" demo.txt || { cat demo.txt; exit 1; }
if ./venv/bin/ledgerkit lab 2> lab.txt; then echo "ledgerkit lab ran without its extra"; exit 1; fi
grep -q "agent-ledgerkit\[notebook\]" lab.txt
echo "The wheel works with its runtime dependencies only ($(./venv/bin/python -V))."
