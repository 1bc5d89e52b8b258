#!/bin/sh
# Builds what brings the recorder to a host, in recorder/build/dist: perfcase-record (one file, for x86_64 and aarch64), its
# checksum, and a Debian package for each. The same sources and compilers give the same bytes, wherever and whenever.
set -eu
cd "$(dirname "$0")/../recorder"
umask 022
LC_ALL=C
export LC_ALL
unset TAR_OPTIONS GZIP
out=build/dist
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' ../Cargo.toml)

say() { printf '%s\n' "recorder: $*" >&2; }
die() { say "$1"; exit 1; }

for machine in x86_64 aarch64; do
    command -v "$machine-linux-gnu-gcc" >/dev/null 2>&1 ||
        die "$machine-linux-gnu-gcc is missing: on Debian, apt-get install gcc-$(echo "$machine" | tr _ -)-linux-gnu and its libc6-dev-*-cross"
done
mkdir -p "$out"
exec 9>"$out/.lock" # two builds at a time would read what the other has half written
flock 9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# pack FOLDER NAME...: a compressed tar with nothing of this machine or of now; tools take 1980 for a date, and not 1970.
pack() {
    (cd "$1" && shift && tar --sort=name --format=ustar --mtime="@${SOURCE_DATE_EPOCH:-315532800}" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX -cf - -- "$@") | gzip -9n
}

# The scripts with the helper of each machine: a host unpacks its own only.
one_file() {
    : >"$work/edit"
    for machine in x86_64 aarch64; do
        tree=$work/$machine
        mkdir "$tree"
        cp -R perfcase-record events.list proc.list lib probes "$tree"
        install -D -m 755 "build/$machine/perfcase-helper" "$tree/build/$machine/perfcase-helper"
        pack "$tree" build events.list lib perfcase-record probes proc.list >"$work/payload"
        base64 "$work/payload" >"$tree.text"
        sum=$(sha256sum <"$work/payload")
        printf '%s\n' "s/@SUM_$machine@/${sum%% *}/" "/^@PAYLOAD_$machine@\$/{r $tree.text" d '}' >>"$work/edit"
    done
    sed -f "$work/edit" -e "s/@VERSION@/$version/" package/one-file.sh >"$work/perfcase-record"
    chmod 755 "$work/perfcase-record"
    (cd "$work" && sha256sum perfcase-record >perfcase-record.sha256)
}

# debian MACHINE ARCHITECTURE: built of what each system with a compiler has: ar and tar.
debian() {
    package=perfcase-recorder_${version}_$2
    tree=$work/$package
    make --no-print-directory -s install OUT="build/$1" CC="$1-linux-gnu-gcc" DESTDIR="$tree/data" PREFIX=/usr
    install -D -m 644 package/perfcase-record.service "$tree/data/usr/lib/systemd/system/perfcase-record.service"
    install -D -m 644 ../LICENSE "$tree/data/usr/share/doc/perfcase-recorder/copyright"
    gzip -9n "$tree/data/usr/share/man/man8/perfcase-record.8"
    mkdir "$tree/control"
    sizes=$(find "$tree/data" -type f -printf '%s+')
    sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$2/; s/@SIZE@/$(((${sizes}1023) / 1024))/" package/control >"$tree/control/control"
    (cd "$tree/data" && find . -type f -printf '%P\n' | sort | xargs md5sum) >"$tree/control/md5sums"
    echo 2.0 >"$tree/debian-binary"
    pack "$tree/control" . >"$tree/control.tar.gz"
    pack "$tree/data" . >"$tree/data.tar.gz"
    (cd "$tree" && ar qcSD "$work/$package.deb" debian-binary control.tar.gz data.tar.gz)
}

make --no-print-directory -s x86_64 aarch64
one_file
debian x86_64 amd64
debian aarch64 arm64
rm -f "$out"/*.deb # of another version
# The server may read them now.
for file in "$work"/perfcase-record "$work"/perfcase-record.sha256 "$work"/*.deb; do
    mv "$file" "$out/.new"
    mv "$out/.new" "$out/${file##*/}"
done
ls "$PWD/$out"/*
