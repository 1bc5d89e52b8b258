#!/bin/sh
# Installs what is missing on Debian 12 and builds everything into .venv. Running it again is cheap.
#   scripts/setup.sh         what recording, analyzing and serving need (make setup)
#   scripts/setup.sh tests   what `make check`, `make test` and `make bless` need besides
#   scripts/setup.sh docs    without the server's page, which may not compile before `make docs` has written its types
#
# Needs: python3 (3.11 or later), cargo. Everything else comes from the distribution and the package index by exact
# version and hash (requirements*.txt). PROFILE is the profile that cargo builds with: dev unless it is set.
set -eu
cd "$(dirname "$0")/.."
venv=.venv
tools=target/tools
for_tests=${1:-} without_page=

say() { printf '%s\n' "setup: $*" >&2; }
die() { say "$1"; exit 1; }

case $for_tests in
'' | tests) ;;
docs) for_tests='' without_page=1 ;;
*) die "usage: setup.sh [tests | docs]" ;;
esac

# A line: a program or file that shows that it is there, the Debian package that brings it.
system_packages() {
    cat <<'LIST'
perf linux-perf
trace-cmd trace-cmd
zstd zstd
gcc gcc
file:libtraceevent.so.1 libtraceevent1
file:../share/doc/libtraceevent1-plugin libtraceevent1-plugin
file:libc.a libc6-dev
LIST
    [ -n "$for_tests" ] || return 0
    cat <<'LIST'
g++ g++
go golang-go
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
file:../../aarch64-linux-gnu/lib/libc.a libc6-dev-arm64-cross
xz xz-utils
bzip2 bzip2
dwz dwz
busybox busybox
chromium chromium
stress-ng stress-ng
dash dash
shellcheck shellcheck
mpstat sysstat
unshare util-linux
ss iproute2
nstat iproute2
lsof lsof
file:libjemalloc.so.2 libjemalloc2
curl curl
wget wget
java openjdk-17-jre-headless
LIST
}

requirements() {
    echo requirements.txt requirements-build.txt
    [ -z "$for_tests" ] || echo requirements-dev.txt
}

present() {
    case $1 in
    file:*)
        for folder in /usr/lib/*-linux-gnu /usr/lib /usr/lib64 /usr/local/lib; do
            [ -e "$folder/${1#file:}" ] && return 0
        done
        return 1
        ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_system_packages() {
    missing=$(system_packages | while read -r probe package; do present "$probe" || printf '%s ' "$package"; done)
    python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3-venv"
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null 2>&1 || die "missing: $missing; this is not Debian, install them yourself"
    say "installing $missing"
    # One package that the distribution lacks must not keep the others away: tests say what they miss.
    as_root apt-get -qq update || say "apt-get update failed; going on with the lists that are there"
    # shellcheck disable=SC2086 # a list of names
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null ||
        for package in $missing; do
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$package" >/dev/null ||
                say "could not install $package"
        done
}

install_python_packages() {
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Python 3.11 or later is needed"
    stamp=$venv/.requirements${for_tests:+-$for_tests}
    # shellcheck disable=SC2046 # a list of names
    cat $(requirements) >"$stamp.new"
    cmp -s "$stamp.new" "$stamp" && return 0
    # uv takes a fifth of pip's time. What only pip is configured for (a mirror, a certificate) pip gets. Both compile the packages:
    # where Python may write no bytecode, each command would compile what it loads again, which takes longer than most commands.
    sed -n '/^uv==/,/[^\\]$/p' requirements-build.txt >"$stamp.uv"
    pip_install --require-hashes -r "$stamp.uv"
    # shellcheck disable=SC2046
    set -- --require-hashes $(requirements | sed 's/[^ ][^ ]*/-r &/g')
    "$venv/bin/uv" pip install --quiet --compile-bytecode --python "$venv/bin/python" "$@" 2>/dev/null || pip_install "$@"
    mv "$stamp.new" "$stamp"
}

pip_install() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# A linter of dependencies and a reader of what perfcase exports; built neither optimized nor for a debugger nor to survive a
# panic, which is most of the time.
build_tools() {
    for tool in 'cargo-deny 0.20.2' 'inferno 0.12.8 --features cli --bin inferno-flamegraph'; do
        # shellcheck disable=SC2086 # a name, a version, options
        set -- $tool
        [ -f "$tools/.$1-$2" ] && continue
        name=$1 version=$2
        shift 2
        # One folder: what both are made of is compiled once.
        CARGO_TARGET_DIR="$PWD/$tools/build" CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_PANIC=abort \
            cargo install --quiet --locked --force --debug --root "$tools" "$name" --version "$version" \
            --no-default-features "$@" &
        child=$!
        trap 'kill $child 2>/dev/null; exit 1' TERM
        wait "$child" || return 1
        : >"$tools/.$name-$version"
    done
    rm -rf "$tools/build"
}

build() {
    # The extension, installed editable. Its requirements are installed by now.
    PATH="$PWD/$venv/bin:$PATH" VIRTUAL_ENV="$PWD/$venv" PIP_QUIET=1 \
        "$venv/bin/maturin" develop --quiet --profile "${PROFILE:-dev}" --locked
    "$venv/bin/python" -c 'import sys; from importlib.metadata import entry_points as e; sys.exit("open" not in e(group="perfcase.server").names)' ||
        pip_install --no-deps --no-index --no-build-isolation -e api
    make --no-print-directory -s -C recorder
    [ -n "$without_page" ] || scripts/page.sh
    # What the first command of a user would otherwise wait for.
    "$venv/bin/python" -m compileall -q analyzer/python/perfcase api/perfcase_api
    "$venv/bin/python" -c 'import sys; from pathlib import Path; from perfcase.case import database; database.ship(Path(sys.argv[1]))' analyzer/python/perfcase/_templates
}

# Beside the rest: much of that waits for the network, or keeps one CPU busy.
building=
begin_tools() {
    [ -n "$for_tests" ] && [ -z "$building" ] || return 0
    build_tools &
    building=$!
    # In the background it hears no Ctrl-C.
    trap 'kill $building 2>/dev/null || true' EXIT
    trap 'exit 1' HUP INT TERM
}

command -v cargo >/dev/null 2>&1 || die "cargo is missing: install Rust 1.88 or later"
# Where there is a linker.
! command -v cc >/dev/null 2>&1 || begin_tools
install_system_packages
begin_tools
install_python_packages
build
if [ -n "$for_tests" ]; then
    wait "$building" || die "the tools of the tests could not be built"
    trap - EXIT HUP INT TERM
fi
say "ready: $venv/bin/perfcase"
