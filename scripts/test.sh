#!/bin/sh
# Runs all tests but the long ones with the pytest that is named: those that share one Spark session,
# and beside them, in a process of their own, those that need none. Both must pass.
pytest=${1:?the pytest to run}
others=$(mktemp) || exit
trap 'kill "$pid" 2>/dev/null; rm -f "$others"' EXIT
trap 'exit 130' INT TERM

"$pytest" -m "not spark and not soak" >"$others" 2>&1 &
pid=$!
"$pytest" -m "spark and not soak"
with=$?
wait "$pid"
without=$?
pid=
echo "Without Spark:"
cat "$others"
[ "$with" -eq 0 ] && [ "$without" -eq 0 ]
