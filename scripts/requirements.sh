#!/bin/sh
# Pins requirements*.txt by exact version and hash, without addresses: neither an index nor a folder of this machine is named.
# A pin stays as long as it fits what is asked for. usage: requirements.sh [--upgrade]
set -eu
cd "$(dirname "$0")/.."
tools=build/pip-tools
[ -x "$tools/bin/pip-compile" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet pip-tools; }

# Where packages come from is each machine's own affair.
unset PIP_FIND_LINKS PIP_INDEX_URL PIP_EXTRA_INDEX_URL

pin() {
    to=$1 what=$2
    shift 2
    "$tools/bin/pip-compile" --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
        --strip-extras --allow-unsafe --output-file "$to" "$@"
    { printf '# %s, by exact version and hash. Made by: make requirements.\n\n' "$what" && grep -v '^#' "$to"; } >"$to.new"
    mv "$to.new" "$to"
}

# Both packages' own lists, with their extras. Spark is half a gigabyte: who has a cluster installs it, and so do the tests.
python3 - >build/requirements.in <<'LIST'
import tomllib

for path in ("pyproject.toml", "api/pyproject.toml"):
    with open(path, "rb") as file:
        project = tomllib.load(file)["project"]
    extras = {name: group for name, group in project.get("optional-dependencies", {}).items() if name != "spark"}
    for group in (project["dependencies"], *extras.values()):
        print(*(name for name in group if name != "perfcase"), sep="\n")
LIST
pin requirements.txt 'What perfcase needs to run' "$@" build/requirements.in
pin requirements-build.txt 'What building needs besides requirements.txt' -c requirements.txt "$@" requirements-build.in
pin requirements-dev.txt 'What testing needs besides' -c requirements.txt -c requirements-build.txt "$@" requirements-dev.in
