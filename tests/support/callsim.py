"""Processes that open, copy, close and use descriptors at random, as perf and the recorder of /proc see them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.perfdata import Recording

NUMBERS = {
    name: int(number)
    for number, name in (
        line.split()
        for line in (Path(__file__).parents[2] / "schema/syscalls/x86_64.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
}
EBADF, EINTR, EAGAIN = -9, -4, -11
O_CLOEXEC = 0o2000000
AT_FDCWD = (1 << 32) - 100
STEP_NS = 10
"""All times differ by more than 1: a close counts from the ns after its entry."""
USES = (
    "read", "write", "recvfrom", "sendto", "sendmsg", "recvmsg", "writev", "fstat", "lseek", "getsockopt", "epoll_ctl", "epoll_wait",
    "timerfd_settime", "getdents64", "poll", "connect", "ppoll", "getpid", "signalfd4", "sendfile",
)  # fmt: skip

TALK = ("read", "write", "recvfrom", "sendto", "sendmsg", "recvmsg", "writev", "readv")


@dataclass
class File:
    """What a descriptor refers to."""

    target: str
    peer: int | None = None


@dataclass
class Proc:
    """A process: its threads and its open descriptors, each with its close-on-exec flag."""

    pid: int
    fds: dict[int, tuple[File, bool]]
    threads: list[Thread] = field(default_factory=list)


@dataclass
class Thread:
    """A thread, with the call that it is in."""

    tid: int
    of: Proc
    call: tuple[str, int, Callable[[], int]] | None = None


class Simulation:
    """A host. ``seed`` decides everything."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = 1_000_000
        self.record = Recording()
        self.snapshots: list[bytes] = []
        self.next_pid = 100
        self.next_inode = 1000
        self.procs: list[Proc] = []
        self.snapshot_ratio = self.chance.choice((0, 0.005, 0.03))
        self.socket_ratio = self.chance.choice((0.1, 0.6))
        for _ in range(self.chance.randint(1, 3)):
            fds = {fd: (File(f"/dev/pts/{fd}"), False) for fd in range(3)}
            fds |= {self.chance.randrange(3, 9): (self.socket()[0], self.chance.random() < 0.3) for _ in range(2)}
            self.start(fds)

    def tick(self) -> int:
        """Return the next moment."""
        self.clock += STEP_NS * self.chance.randint(1, 5)
        return self.clock

    def start(self, fds: dict[int, tuple[File, bool]]) -> Proc:
        """Add a process."""
        proc = Proc(self.next_pid, fds)
        for _ in range(self.chance.randint(1, 3)):
            proc.threads.append(Thread(self.next_pid, proc))
            self.next_pid += 1
        self.procs.append(proc)
        return proc

    def socket(self, count: int = 1) -> list[File]:
        """Return new sockets; two are each other's ends."""
        inodes = [self.next_inode + number for number in range(count)]
        self.next_inode += count
        return [
            File(f"socket:[{inode}]", inodes[1 - number] if count == 2 else None) for number, inode in enumerate(inodes)
        ]

    def run(self, steps: int) -> None:
        """Let threads enter calls and return from them."""
        for _ in range(steps):
            if self.chance.random() < self.snapshot_ratio:
                self.snapshot()
            thread = self.chance.choice(self.chance.choice(self.procs).threads)
            if self.chance.random() < 0.01:
                self.record.comm(self.tick(), thread.of.pid, thread.tid, f"name{self.chance.randrange(4)}")
            if thread.call is None:
                self.enter(thread)
            elif self.chance.random() < 0.7:
                self.leave(thread)
            if self.chance.random() < 0.004:
                # Its return is lost, or it never comes.
                thread.call = None
            if self.chance.random() < 0.003 and len(self.procs) > 1:
                proc = self.procs.pop(self.chance.randrange(len(self.procs)))
                for ended in proc.threads[::-1]:
                    self.record.end(self.tick(), proc.pid, ended.tid)
        if self.snapshot_ratio:
            self.snapshot()

    def enter(self, thread: Thread) -> None:
        """Make a thread's next call."""
        name, args, effect = self.chosen(thread.of)
        number = NUMBERS[name]
        if self.chance.random() > 0.01:
            self.record.enter(self.tick(), thread.of.pid, thread.tid, number, args)
        thread.call = (name, number, effect)
        self.change_state(thread, name == "connect")

    def change_state(self, thread: Thread, is_begin: bool) -> None:
        """Begin a connection, or change the state of one of a few sockets; now and then what nobody expects."""
        if self.chance.random() < (0.2 if is_begin else 0.97):
            return
        skaddr, family = self.chance.randrange(4), self.chance.choice((2, 10))
        states = (7, 2) if is_begin else self.chance.choice(((2, 1), (2, 7), (1, 4), (7, 2), (7, 10)))
        ports = self.chance.choice((0, 40000 + skaddr)), 80 + self.chance.randrange(2)
        self.record.state(self.tick(), thread.of.pid, thread.tid, skaddr, states, ports, family)

    def leave(self, thread: Thread) -> None:
        """Let a thread return."""
        assert thread.call
        _, number, effect = thread.call
        thread.call = None
        ret = self.chance.choice((EINTR, EAGAIN)) if self.chance.random() < 0.05 else effect()
        if self.chance.random() > 0.01:
            self.record.exit(self.tick(), thread.of.pid, thread.tid, number, ret)

    def put(self, proc: Proc, file: File, is_cloexec: bool, least: int = 0) -> int:
        """Give the lowest free number to a file."""
        fd = next(fd for fd in range(least, 1 << 20) if fd not in proc.fds)
        proc.fds[fd] = (file, is_cloexec)
        return fd

    def some_fd(self, proc: Proc) -> int:
        """Return an open descriptor, as a rule."""
        if proc.fds and self.chance.random() < 0.85:
            return self.chance.choice(list(proc.fds))
        return self.chance.randrange(14)

    def chosen(self, proc: Proc) -> tuple[str, list[int], Callable[[], int]]:
        """Return a call, its arguments and what it does."""
        options = list(self.makers(proc)) if len(proc.fds) < 12 else []
        options += list(self.changers(proc)) * (1 if len(proc.fds) < 12 else 3)
        if not options or self.chance.random() < 0.45:
            return self.use(proc)
        return self.chance.choice(options)

    def makers(self, proc: Proc) -> Iterator[tuple[str, list[int], Callable[[], int]]]:
        """Give calls that make descriptors."""
        flag = self.chance.choice((0, O_CLOEXEC))
        is_cloexec, fd, memory = flag > 0, self.some_fd(proc), 0x7F0000001000
        path = File(f"/file/{self.chance.randrange(5)}")

        def copied(least: int, is_cloexec: bool) -> int:
            return self.put(proc, proc.fds[fd][0], is_cloexec, least) if fd in proc.fds else EBADF

        def two(files: list[File]) -> int:
            for file in files:
                self.put(proc, file, is_cloexec)
            return 0

        def pipe() -> int:
            self.next_inode += 1
            return two([File(f"pipe:[{self.next_inode}]")] * 2)

        def to(other: int, is_cloexec: bool) -> int:
            if fd not in proc.fds:
                return EBADF
            if fd != other:
                proc.fds[other] = (proc.fds[fd][0], is_cloexec)
            return other

        other = self.some_fd(proc)
        yield "openat", [AT_FDCWD, memory, flag], lambda: self.put(proc, path, is_cloexec)
        yield (
            "socket",
            [self.chance.choice((1, 2, 10, 16, 40)), 1 | flag],
            lambda: self.put(proc, self.socket()[0], is_cloexec),
        )
        yield "accept4", [fd, memory, 0, flag], lambda: self.put(proc, self.socket()[0], is_cloexec)
        yield "accept", [fd, memory, 0], lambda: self.put(proc, self.socket()[0], False)
        yield "epoll_create1", [flag], lambda: self.put(proc, File("anon_inode:[eventpoll]"), is_cloexec)
        yield "eventfd2", [0, flag], lambda: self.put(proc, File("anon_inode:[eventfd]"), is_cloexec)
        yield "memfd_create", [memory, 1], lambda: self.put(proc, File("/memfd:x (deleted)"), True)
        yield "pipe2", [memory, flag], pipe
        yield "pipe2", [memory, flag], pipe
        yield "socketpair", [1, 1 | flag, 0, memory], lambda: two(self.socket(2))
        yield "dup", [fd], lambda: copied(0, False)
        yield "dup2", [fd, other], lambda: to(other, False)
        if fd != other:
            yield "dup3", [fd, other, flag], lambda: to(other, is_cloexec)
        yield "fcntl", [fd, 0, 5], lambda: copied(5, False)
        yield "fcntl", [fd, 1030, 5], lambda: copied(5, True)
        yield "openat2", [AT_FDCWD, memory, memory, 24], lambda: self.put(proc, path, is_cloexec)

    def changers(self, proc: Proc) -> Iterator[tuple[str, list[int], Callable[[], int]]]:
        """Give calls that close descriptors, or change them, or what processes there are."""
        fd = self.some_fd(proc)
        low = self.chance.randrange(12)
        is_cloexec = self.chance.random() < 0.5

        def closed() -> int:
            return 0 if proc.fds.pop(fd, None) else EBADF

        def flagged() -> int:
            if fd not in proc.fds:
                return EBADF
            proc.fds[fd] = (proc.fds[fd][0], is_cloexec)
            return 0

        def ranged(flags: int) -> int:
            for each in [each for each in proc.fds if low <= each <= low + 6]:
                if flags:
                    proc.fds[each] = (proc.fds[each][0], True)
                else:
                    del proc.fds[each]
            return 0

        def forked() -> int:
            if len(self.procs) > 5:
                return EAGAIN
            child = self.start(dict(proc.fds))
            self.record.fork(self.tick(), child.pid, child.pid, proc.pid, proc.pid)
            for thread in child.threads[1:]:
                self.record.fork(self.tick(), child.pid, thread.tid, child.pid, child.pid)
            return child.pid

        def executed() -> int:
            for each in [each for each, (_, is_closed) in proc.fds.items() if is_closed]:
                del proc.fds[each]
            return 0

        for _ in range(3):
            yield "close", [fd], closed
        yield "fcntl", [fd, 2, int(is_cloexec)], flagged
        yield "ioctl", [fd, 21585 if is_cloexec else 21584], flagged
        if self.chance.random() < 0.2:
            flags = self.chance.choice((0, 4))
            yield "close_range", [low, low + 6, flags], lambda: ranged(flags)
            yield "execve", [1 << 40, 1 << 40, 1 << 40], executed
        if self.chance.random() < 0.3:
            yield "clone", [0], forked

    def use(self, proc: Proc) -> tuple[str, list[int], Callable[[], int]]:
        """Return a call that uses a descriptor, as a rule."""
        name, fd = self.chance.choice(USES), self.some_fd(proc)
        sockets = [each for each, (file, _) in proc.fds.items() if file.target.startswith("socket")]
        if sockets and self.chance.random() < 0.1:
            return (
                "connect",
                [self.chance.choice(sockets), 0x7F0000001000, 16],
                lambda: self.chance.choice((0, -111, -115)),
            )
        if sockets and self.chance.random() < self.socket_ratio:
            name, fd = self.chance.choice(TALK), self.chance.choice(sockets)
        ret = self.chance.choice((0, 1, 8, 100))

        def used() -> int:
            if name in ("poll", "ppoll", "getpid"):
                return ret
            if fd not in proc.fds:
                return EBADF
            return fd if name == "signalfd4" else ret

        return name, [fd, 0x7F0000001000, 64], used

    def snapshot(self) -> None:
        """List the descriptors of some processes, and the sockets."""
        seq, files, sockets = len(self.snapshots), [], []
        begin = self.tick()
        for proc in self.procs:
            if self.chance.random() < 0.8:
                listed = "".join(f"{fd} {file.target}\n" for fd, (file, _) in sorted(proc.fds.items()))
                files.append((self.tick(), f"/proc/{proc.pid}/fd", listed))
                sockets += [file for file, _ in proc.fds.values() if file.target.startswith("socket")]
        files.append((self.tick(), "/perfcase/netns/4026531840/sockets", "".join(map(self.socket_line, sockets))))
        frames = [f"S {begin} {begin + 10**18} {seq}\n"]
        frames += [f"F {ns} {len(text)} {path}\n{text}\n" for ns, path, text in files]
        frames.append(f"Z {self.tick()} {seq} {len(files)} {sum(len(text) for *_, text in files)}\n")
        self.snapshots.append("".join(frames).encode())

    def socket_line(self, file: File) -> str:
        """Return a socket as the recorder writes it."""
        inode = int(file.target.removeprefix("socket:[").removesuffix("]"))
        if file.peer or inode % 3 == 0:
            name = f" local_address=/run/{inode % 4}" if inode % 2 else ""
            peer = f" peer_inode={file.peer}" if file.peer and self.chance.random() < 0.9 else ""
            return f"family=unix protocol=stream state=ESTAB inode={inode}{name}{peer}\n"
        family, address = ("inet6", "::1") if inode % 2 else ("inet", "10.0.0.1")
        port = 40000 + inode % 7
        peer_port = self.chance.choice((0, 80, 40003, 50000)) if inode % 5 else 5432
        state = "LISTEN" if inode % 11 == 0 else "ESTAB"
        return (
            f"family={family} protocol=tcp state={state} local_address={address} local_port={port}"
            f" peer_address={address} peer_port={peer_port} inode={inode}\n"
        )

    def write(self, folder: Path) -> Path:
        """Write the capture: a folder as the recorder leaves it."""
        for name in ("perf", "process"):
            (folder / name).mkdir(parents=True)
        self.record.write(folder / "perf" / "perf.data")
        (folder / "process" / "snapshots").write_bytes(b"".join(self.snapshots))
        return folder
