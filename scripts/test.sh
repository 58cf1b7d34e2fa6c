#!/bin/sh
# Runs all tests but the long ones with the pytest that is named: those that share a Spark session, in
# two processes with one each, a file of them in the one or the other; and beside them those that need
# none. A micro-batch is mostly planned, and that by one core: two sessions use both. All must pass.
pytest=${1:?the pytest to run}
others=$(mktemp) || exit
trap 'kill "$pid" 2>/dev/null; rm -f "$others"' EXIT
trap 'exit 130' INT TERM

"$pytest" -m "not spark and not soak" >"$others" 2>&1 &
pid=$!
"$pytest" -m "spark and not soak" -n 2 --dist loadfile
with=$?
wait "$pid"
without=$?
pid=
echo "Without Spark:"
cat "$others"
[ "$with" -eq 0 ] && [ "$without" -eq 0 ]
