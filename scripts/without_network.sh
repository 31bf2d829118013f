#!/bin/sh
# Runs a command in a network namespace that holds nothing but the loopback interface, where this machine allows it;
# elsewhere says so and runs it as it is.
set -eu
if command -v ip >/dev/null && unshare --net true 2>/dev/null; then
  exec unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$@"
fi
echo 'No network namespace can be made here: the network stays on.' >&2
exec "$@"
