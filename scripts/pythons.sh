#!/bin/sh
# Lists one interpreter of each supported version of Python that this machine has, oldest first; if none, the one given.
set -eu

found=
for version in 3.11 3.12 3.13; do
  for python in "python$version" "$(pyenv root 2>/dev/null || true)/versions/$version".*/bin/python; do
    if "$python" -c "import sys, venv; sys.exit(sys.version_info[:2] != tuple(map(int, '$version'.split('.'))))" 2>/dev/null; then
      echo "$python"
      found=yes
      break
    fi
  done
done
test -n "$found" || echo "${1:-python3}"
