#!/bin/sh
# Makes build/incidents/root, a Debian 12 with the programs that the incidents run: they are installed there only, nothing is started.
#   incidents/root.sh      takes 2 minutes, once
set -eu
cd "$(dirname "$0")/.."
root=build/incidents/root
[ ! -e $root/complete ] || exit 0
[ "$(id -u)" = 0 ] || { echo "incidents: run it as root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || apt-get install -qq -y --no-install-recommends mmdebstrap >/dev/null
echo "incidents: a Debian with PostgreSQL, Redis, nginx, Java, Node.js and others for $root; takes 2 minutes" >&2
mkdir -p build/incidents
rm -rf $root
mmdebstrap --quiet --mode=root --variant=apt --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    --include=python3,gunicorn,postgresql,redis-server,nginx-light,openjdk-17-jdk-headless,dnsmasq-base,memcached,haproxy,nodejs,sqlite3,apache2-utils,fio,stress-ng,iproute2,procps,make,gcc,libc6-dev,e2fsprogs,mount \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm $root
touch $root/complete
