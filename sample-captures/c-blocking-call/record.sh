#!/bin/sh
# Records the service and its PostgreSQL while it answers GET, then POST. The load and service B are not recorded, and, to keep
# the captures small, no symbol tables.
# usage: record.sh PERFCASE_RECORD [OUT_FOLDER]        root, with a JDK 17, Maven and PostgreSQL (apt-get install postgresql)
set -eu
recorder=$(readlink -f "$1") out=$(readlink -f "${2:-.}") here=$(cd "$(dirname "$0")" && pwd)
port=18080 port_b=18081 port_db=15432
build=$here/build
if [ ! -e "$build/Service.class" ]; then
	mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$build"
	javac -cp "$build/*" -d "$build" "$here/Service.java"
fi
# its process id is that of the virtual machine
run() { exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx128m -cp "$build:$build/*" Service "$@"; }

data=$(mktemp -d)
children=
cleanup() {
	# shellcheck disable=SC2086 # a list of process ids
	[ -z "$children" ] || kill $children 2>/dev/null || true
	wait
	rm -rf "$data"
}
trap cleanup EXIT
chown postgres "$data"
for bin in /usr/lib/postgresql/*/bin; do :; done
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
as_postgres "$bin/initdb" -D "$data/db" -A trust >/dev/null
cd "$data"
as_postgres "$bin/postgres" -D "$data/db" -p $port_db -k "$data" -c fsync=off >/dev/null 2>&1 &
database=$! children=$!
until "$bin/pg_isready" -q -h 127.0.0.1 -p $port_db; do sleep 0.2; done
as_postgres "$bin/psql" -q -h 127.0.0.1 -p $port_db postgres -c 'CREATE TABLE orders (id serial PRIMARY KEY, price int)' \
	-c 'INSERT INTO orders (price) SELECT 995 FROM generate_series(1, 1000)'
run b $port_b 150 &
children="$children $!"
run service $port $port_b "jdbc:postgresql://127.0.0.1:$port_db/postgres?user=postgres" &
service=$!
children="$children $service"
sleep 5
for method in GET POST; do
	name=$(echo $method | tr '[:upper:]' '[:lower:]')
	(run load $method $port 12) # warms up
	(run load $method $port 12) &
	load=$!
	sleep 3
	"$recorder" --pid "$service,$database" --duration 3 --interval 0.5 --symbols none \
		--note "$method /orders" -o "$out/$name.perfcase"
	wait $load
done
