"""A capture that holds a value of each class of private data, in each place that it can stand in."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
from pathlib import Path

from tests.support import perfdata
from tests.support.imports import SAMPLES

HOME = b"/home/margrethe/orders 7/server"
GROUP = "/machine.slice/docker-4f1c9a77d0e3.scope/billing"
V4, V6, MAC = "203.0.113.77", "2001:db8:77::9", "52:54:00:aa:bb:cc"
PRIVATE = (
    "db-prod-17", "margrethe", "orders 7", "4f1c9a77d0e3", "billing", V4, V6, MAC, "--token=s3cretT0ken", "customer-4711", "Confidential Co",
    "TICKET-99", "nightly-label", "SELECT card FROM payments", "ledger-host", "acme-patched", "discarded-secret", "stale-secret",
    "charge_customer_card", "_ZN4acme11settle_bookEv", "customer_ledger", "imported_by_acme", "Lcom/acme/Orders;::refund",
)  # fmt: skip
"""What must not be in the redacted capture. What is a pattern of bytes there is in ``private_bytes``."""
_KERNEL = 0xFFFFFFFF81234560
_ORDER = "\tfield:__data_loc char[] what;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:void * where;\toffset:16;\tsize:8;\tsigned:0;\n"
_EXEC = (
    "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
    "\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
)


def private_bytes() -> list[bytes]:
    """The private values as bytes: text, addresses of sockets, addresses of the kernel."""
    packed = [bytes([203, 0, 113, 77]), bytes.fromhex("20010db8007700000000000000000009"), struct.pack("<Q", _KERNEL)]
    return [*map(str.encode, PRIVATE), *packed, b"%016x" % _KERNEL]


def write(path: Path) -> Path:
    """Write the archive."""
    found = members()
    listed = [
        {"path": name, "source": source, "compression": "none", "size_bytes": len(data), "stored_bytes": len(data),
         "sha256": hashlib.sha256(data).hexdigest()}
        for name, (source, data) in found.items()
    ]  # fmt: skip
    with tarfile.open(SAMPLES / "x86_64-scheduling" / "x.perfcase") as sample:
        manifest = json.load(sample.extractfile("manifest.json"))  # type: ignore[arg-type]
    manifest["members"] = listed
    manifest["ticket"], manifest["note"], manifest["labels"] = (
        "TICKET-99",
        "for Confidential Co only",
        ["nightly-label"],
    )
    manifest["host"]["hostname"] = "db-prod-17"
    target = {
        "mode": "command",
        "command": ["curl", "--token=s3cretT0ken", V4],
        "pids": [7],
        "cgroup": "/sys/fs/cgroup" + GROUP,
    }
    manifest["recorder"] |= {"command": ["perfcase-record", "--", *target["command"]], "target": target}
    manifest["customer"] = "Confidential Co"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in {
            "manifest.json": json.dumps(manifest).encode(),
            **{name: data for name, (_, data) in found.items()},
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def members() -> dict[str, tuple[str, bytes]]:
    home = HOME.decode()
    hashed = "path-" + hashlib.sha256(HOME).hexdigest()[:16]
    process = {
        "/proc/7/cmdline": f"curl\0--token=s3cretT0ken\0-o\0{home}\0{V4}\0", "/proc/7/cgroup": f"0::{GROUP}\n",
        "/proc/7/fd": f"3 {home}\n4 socket:[88]\n", "/perfcase/netns/4026531840/sockets":
        f"family=inet protocol=tcp state=ESTAB local=10.1.2.3:443 peer={V4}:50000 inode=88\n"
        f"family=inet6 protocol=tcp state=ESTAB local=[::1]:443 peer=[{V6}]:50001 inode=89\n",
    }  # fmt: skip
    proc = {
        f"/sys/fs/cgroup{GROUP}/cpu.stat": "usage_usec 5\nuser_usec 3\nsystem_usec 2\n",
        "/proc/loadavg": "0.1 0.2 0.3 1/80 99\n",
    }
    version = "Linux version 6.1.0 (acme-patched@ledger-host) (gcc 12) #1 SMP"
    kmsg = [
        version, "Command line: root=/dev/sda1 ip=203.0.113.77 owner=customer-4711",
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={GROUP},task_memcg={GROUP},task=curl,pid=7,uid=0",
        "Memory cgroup out of memory: Killed process 7 (curl) total-vm:8kB, anon-rss:4kB", "blk_update_request: critical medium error, dev sda, sector 8 op 0x0:(READ)", "virtio_net: customer-4711 has 52:54:00:aa:bb:cc",
        f"EXT4-fs error (device sda1): {home}: bad inode",
    ]  # fmt: skip
    host = {
        "version": version + "\n", "uname": "Linux db-prod-17 6.1.0 #1 SMP x86_64 GNU/Linux\n", "kmsg": "".join(f"3,{n},{37_000_000 + n},-;{text}\n" for n, text in enumerate(kmsg)),
        "cmdline": f"root=/dev/sda1 ip={V4} owner=customer-4711\n", "mounts": f"ledger-host:/export /mnt nfs4 rw,addr={V4} 0 0\n",
        "kallsyms": f"{_KERNEL:016x} T schedule\n", "modules": f"ext4 983040 1 - Live 0x{_KERNEL:x}\n",
    }  # fmt: skip
    objects = "member\tkind\tbuild_id\tpath\tpid\tnspid\tsize_bytes\toriginal_bytes\treason\n"
    objects += f"elf/{hashed}\telf-table\t-\t{home}\t-\t-\t4\t4\t-\n"
    objects += "elf/aa77\telf-table\taa77\t/opt/acme/app\t-\t-\t4\t4\t-\nperf-map/7\tperf-map\t-\t/tmp/perf-7.map\t7\t7\t4\t4\t-\n"
    found = {
        "perf/perf.data": ("perf", _perf_data()), "proc/snapshots": ("proc", _snapshots(proc)), "process/snapshots": ("process", _snapshots(process)),
        "symbols/objects.tsv": ("symbols", objects.encode()), f"symbols/elf/{hashed}": ("symbols", b"\x7fELF" + HOME),
        "symbols/elf/aa77": ("symbols", table()), "symbols/perf-map/7": ("symbols", b"7f00 10 Lcom/acme/Orders;::refund\n"),
        "recorder/log": ("recorder", f"12:00:00 runs curl --token=s3cretT0ken {V4} from {MAC}\nprobe charge_customer_card, _ZN4acme11settle_bookEv\n".encode()), **_ftrace(),
    }  # fmt: skip
    return found | {f"host/{name}": ("host", text.encode()) for name, text in host.items()}


def table() -> bytes:
    """Return a table-only ELF file with functions, data, and a function of another object."""
    text = b"\0charge_customer_card\0_ZN4acme11settle_bookEv\0customer_ledger\0imported_by_acme\0"
    code, data = 1, 2
    places = [(text.index(name), at) for name, at in ((b"charge_c", code), (b"_ZN", code), (b"customer_l", data))]
    names = b"\0.text\0.data\0.symtab\0.strtab\0.dynsym\0"
    tables = [b"".join(struct.pack("<IBBHQQ", name, 2, 0, at, 0x1000 * at, 64) for name, at in each)
              for each in ([(0, 0), *places], [(0, 0), (text.index(b"imported"), 0)])]  # fmt: skip
    bodies, out, headers = [b"", b"", tables[0], text, tables[1], names], bytes(64), bytes(64)
    kinds = [(1, 8, 6, 0), (7, 8, 3, 0), (13, 2, 0, 4), (21, 3, 0, 0), (29, 11, 0, 4), (0, 3, 0, 0)]
    for (name, kind, flags, link), body in zip(kinds, bodies, strict=True):
        headers += struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, len(out), len(body), link, 0, 1, 24)
        out += body
    head = struct.pack(
        "<4s12sHHIQQQIHHHHHH", b"\x7fELF", b"\x02\x01\x01", 3, 62, 1, 0, 0, len(out), 0, 64, 56, 0, 64, 7, 6
    )
    return head + out[64:] + headers


def _snapshots(files: dict[str, str]) -> bytes:
    out, total = b"", 0
    for seq in range(2):
        ns = 1_000_000_000 + seq * 1_000_000
        out += b"S %d %d %d\n" % (ns, ns, seq)
        for path, text in files.items():
            out += b"F %d %d %s\n" % (ns, len(text.encode()), path.encode()) + text.encode() + b"\n"
            total += len(text.encode())
        out += b"Z %d %d %d %d\n" % (ns, seq, len(files), total)
        total = 0
    return out


def _perf_data() -> bytes:
    """Return a perf.data with mappings, groups, states of sockets and an event that nobody knows."""
    formats = dict(perfdata.FORMATS)
    perfdata.FORMATS[("acme", "order")] = (106, _ORDER)
    try:
        made = perfdata.Recording()
        made.comm(1_000_000_000, 7, 7, "curl")
        trailer = perfdata._sample_id(1_000_000_001, 7, 7)
        path = HOME + bytes(8 - len(HOME) % 8)
        made._record(10, struct.pack("<IIQQQIIQQII", 7, 7, 0x1000, 0x1000, 0, 1, 1, 5, 0, 5, 2) + path + trailer)
        group = GROUP.encode() + bytes(8 - len(GROUP) % 8)
        made._record(19, struct.pack("<Q", 5) + group + trailer)
        v4, v6 = (
            bytes([10, 1, 2, 3]) + bytes([203, 0, 113, 77]),
            bytes.fromhex("fe800000000000000000000000000001") + private_v6(),
        )
        for number, family in enumerate((2, 10)):
            body = struct.pack("<Qii4H", _KERNEL + 64, 7, 1, 443, 50000 + number, family, 6) + v4 + v6
            made._sample(1_000_000_010 + number, 7, 7, perfdata.STATE, body)
        text = b"SELECT card FROM payments\0\0\0"
        made._sample(1_000_000_020, 7, 7, 106, struct.pack("<IIQ", len(text) << 16 | 24, 0, _KERNEL) + text)
        where = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path.cwd()
        file = where / f"private-{id(made)}.data"
        try:
            return made.write(file).read_bytes()
        finally:
            file.unlink(missing_ok=True)
    finally:
        perfdata.FORMATS.clear()
        perfdata.FORMATS.update(formats)


def private_v6() -> bytes:
    """The bytes of the private IPv6 address."""
    return bytes.fromhex("20010db8007700000000000000000009")


def _ftrace() -> dict[str, tuple[str, bytes]]:
    """Return a page with an exec, an event that the kernel discarded, and what lay behind the last event before."""
    name = HOME + b"\0" + bytes(3 - len(HOME) % 4)
    record = struct.pack("<HBBiIii", 300, 0, 0, 7, len(name) << 16 | 20, 7, 7) + name
    event = struct.pack("<II", 0, len(record) + 4) + record
    lost = b"discarded-secret"
    discarded = struct.pack("<II", 29 | 1 << 5, len(lost) + 4) + lost
    data = event + discarded + event
    page = struct.pack("<QQ", 1_000_000_040, len(data)) + data
    page = (page + b"stale-secret" * 400)[:4096]
    header = (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
    )
    with tarfile.open(SAMPLES / "d-type-checks" / "server.perfcase") as sample:
        header_event = sample.extractfile("ftrace/raw/header_event").read()  # type: ignore[union-attr]
    text = f'name: sched_process_exec\nID: 300\nformat:\n{perfdata.COMMON}{_EXEC}\nprint fmt: ""\n'
    files = {
        "header_page": header.encode(), "header_event": header_event, "clock": b"mono\n", "format/sched/sched_process_exec": text.encode(),
        "printk_formats": b'0x%016x : "%%s"\n' % _KERNEL, "cpu0": page,
    }  # fmt: skip
    return {f"ftrace/raw/{name}": ("ftrace", data) for name, data in files.items()}
