#!/bin/sh
# Licences, sources and known vulnerabilities of the Rust dependencies, by deny.toml. The database of vulnerabilities is
# fetched; where it cannot be reached, its last copy is asked, and without one that is said and nothing is held against it.
# usage: dependencies.sh CARGO_DENY
set -eu
cd "$(dirname "$0")/.."
deny=${1:?usage: dependencies.sh CARGO_DENY}

"$deny" --log-level error check --hide-inclusion-graph licenses bans sources

# Whether it could be asked at all: what it says last.
for how in '' --offline; do
    # shellcheck disable=SC2086 # an option, or none
    told=$("$deny" $how --log-level error check --hide-inclusion-graph advisories 2>&1) && exit 0
    case $told in *'advisories FAILED'*) printf '%s\n' "$told" >&2 && exit 1 ;; esac
done
printf '%s\n' 'lint: known vulnerabilities are not checked: their database cannot be reached, and there is no copy of it' >&2
