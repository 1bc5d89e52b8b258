#!/bin/sh
# Builds the wheels into a folder: perfcase, with schema/ and recorder/ (its helper and its one file built) inside, and
# perfcase-api with its page.
# PROFILE is the profile that cargo builds with: release unless it is set. usage: wheel.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: wheel.sh FOLDER}
data=analyzer/python/perfcase/_data

trap 'rm -rf "$data"' EXIT
trap 'exit 1' HUP INT TERM
rm -rf "$data"
mkdir -p "$data"
make --no-print-directory -s -C recorder
scripts/recorder.sh >/dev/null
cp -R schema recorder "$data/"
rm -rf "$data"/recorder/build/x86_64 "$data"/recorder/build/aarch64 "$data"/recorder/build/dist/*.deb "$data"/recorder/build/dist/.lock
.venv/bin/python -c 'import sys; from pathlib import Path; from perfcase.case import database; database.ship(Path(sys.argv[1]))' "$data/templates"
find "$data" -name __pycache__ -prune -exec rm -rf {} +

PATH="$PWD/.venv/bin:$PATH" .venv/bin/maturin build --quiet --profile "${PROFILE:-release}" --locked --out "$out"
scripts/page.sh
target=$(cd "$out" && pwd)
(cd api && ../.venv/bin/hatchling build --target wheel --directory "$target" 2>/dev/null)
ls "$out"/*.whl
