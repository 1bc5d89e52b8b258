#!/bin/sh
# Makes a Debian 12 with the programs that the incidents run: they are installed there only, nothing is started.
#   incidents/root.sh         build/incidents/root, for scenes on this host; takes 2 minutes, once
#   incidents/root.sh guest   build/incidents/guest: the same with a kernel, as a disk that guest.py boots (x86_64)
set -eu
cd "$(dirname "$0")/.."
guest=${1:-} root=build/incidents/root more='' complete=build/incidents/root/complete
case $guest in
'') ;;
guest) root=build/incidents/guest/root more=,linux-image-amd64,kmod complete=build/incidents/guest/complete ;;
*) echo "usage: root.sh [guest]" >&2; exit 1 ;;
esac
programs=python3,gunicorn,postgresql,redis-server,nginx-light,openjdk-17-jdk-headless,dnsmasq-base,memcached,haproxy,nodejs,sqlite3,apache2
programs=$programs,mariadb-server,php8.2-fpm,apache2-utils,fio,stress-ng,iproute2,procps,make,gcc,libc6-dev,e2fsprogs,mount$more
[ "$(cat $complete 2>/dev/null)" != $programs ] || exit 0
[ "$(id -u)" = 0 ] || { echo "incidents: run it as root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || apt-get install -qq -y --no-install-recommends mmdebstrap >/dev/null
[ -z "$guest" ] || command -v qemu-system-x86_64 >/dev/null || apt-get install -qq -y --no-install-recommends qemu-system-x86 seabios >/dev/null
echo "incidents: a Debian with PostgreSQL, MariaDB, Redis, nginx, Java, Node.js and others for $root; takes 2 minutes" >&2
mkdir -p "${root%/*}"
rm -rf $root
mmdebstrap --quiet --mode=root --variant=apt --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    --include=$programs \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm $root
if [ "$guest" ]; then
    # The guest's first process. Its disk has no copy of the suite and the recorder: the host shows them, and takes the captures.
    cat >$root/guest-init <<'INIT'
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
hostname guest
ip link set lo up
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
modprobe -a loop sch_tbf sch_netem 9pnet_virtio 9p
for name in incidents recorder captures; do
    mkdir -p /host/$name /tmp/project
    mount -t 9p -o trans=virtio,version=9p2000.L $name /host/$name
done
cp -r /host/incidents /host/recorder /tmp/project # a recording shall not see how the host shows files
python3 /tmp/project/incidents/playing.py /host/captures
sync
echo o >/proc/sysrq-trigger
sleep 60
INIT
    chmod 755 $root/guest-init
    cp $root/boot/vmlinuz-* build/incidents/guest/kernel
    cp $root/boot/initrd.img-* build/incidents/guest/initrd
    rm -f build/incidents/guest/disk
    truncate -s 4G build/incidents/guest/disk
    mke2fs -q -t ext4 -d $root build/incidents/guest/disk
    rm -rf $root
fi
echo $programs >$complete
