#!/bin/sh
# Runs the official Node SDKs against the built gateway and the fake upstream; packages are installed under the target
# folder when the lock file has changed. Arguments are test files; without any, all are run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
place=${CARGO_TARGET_DIR:-$root/target}/outside-node

if ! cmp -s "$here/package-lock.json" "$place/installed.json"; then
    mkdir -p "$place"
    cp "$here/package.json" "$here/package-lock.json" "$place/"
    npm ci --prefix "$place" --ignore-scripts --no-audit --no-fund --loglevel=error
    cp "$here/package-lock.json" "$place/installed.json"
fi

cd "$here"
[ $# -gt 0 ] || set -- *.test.js
NODE_PATH=$place/node_modules exec node --test --test-reporter=spec "$@"
