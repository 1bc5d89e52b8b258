#!/bin/sh
# Builds the wheel into a folder, with schema/ and recorder/ (its helper built) inside. usage: wheel.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: wheel.sh FOLDER}
data=analyzer/python/perfcase/_data

trap 'rm -rf "$data"' EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$data"
mkdir -p "$data"
cp -R schema recorder "$data/"
find "$data" -name __pycache__ -prune -exec rm -rf {} +

PATH="$PWD/.venv/bin:$PATH" .venv/bin/maturin build --quiet --profile dev --locked --out "$out"
ls "$out"/*.whl
