#!/bin/sh
# Runs the outside tests: official SDKs against the built gateway and the fake upstream.
# Build first: cargo build -p omni-skills -p testkit. Arguments go to pytest; without any, the Node suite is run, too
# (alone: node/run.sh).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
venv=$target/outside-venv
libs=$target/outside-py

if python3 -c 'import ensurepip' 2>/dev/null; then
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    python=$venv/bin/python
    "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
else
    # Debian without python3-venv has no ensurepip; a plain folder does as well.
    python=python3
    "$python" -m pip install --quiet --disable-pip-version-check --upgrade --target "$libs" -r "$here/requirements.txt"
    PYTHONPATH=$libs${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONPATH
fi

[ $# -gt 0 ] || sh "$here/node/run.sh"
cd "$here"
PYTHONDONTWRITEBYTECODE=1 exec "$python" -m pytest -q -p no:cacheprovider "$@"
