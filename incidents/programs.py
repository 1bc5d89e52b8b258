"""Real programs as faults and healthy workloads start them, and clients that ask them."""

from __future__ import annotations

import ctypes
import fcntl
import http.client
import os
import random
import select
import socket
import struct
import textwrap
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable
from pathlib import Path

PG = "/usr/lib/postgresql/15/bin"


def postgres(scene, *settings: str, group: str | None = None, wal: str = "", folder: str = "/scene/pg") -> None:
    """PostgreSQL on port 5432 with a table of 50,000 accounts; ``wal`` is a folder for its log, ``folder`` for all else."""
    data = Path(folder)
    data.mkdir(exist_ok=True)
    data.chmod(0o777)
    scene.run(
        f"{PG}/initdb",
        "-D",
        f"{data}/data",
        "-A",
        "trust",
        "-U",
        "postgres",
        "--no-sync",
        *(["--waldir", wal] if wal else []),
        user="postgres",
    )
    words = [f"{PG}/postgres", "-D", f"{data}/data", "-k", "/scene"]
    for setting in settings:
        words += ["-c", setting]
    scene.start(*words, user="postgres", group=group)
    scene.wait_port(5432)
    scene.wait(lambda: sql("SELECT 1"), "PostgreSQL")
    sql("CREATE TABLE account (id int PRIMARY KEY, owner int, balance int, note text)")
    sql("INSERT INTO account SELECT n, n, 100, repeat('x', 100) FROM generate_series(1, 50000) AS n")
    sql("CREATE INDEX account_owner ON account (owner)")
    sql("VACUUM ANALYZE account")


class Session:
    """A session of PostgreSQL's simple query protocol (version 3.0 of its manual, "Message Formats")."""

    def __init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", 5432))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        words = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall((len(words) + 8).to_bytes(4, "big") + (196608).to_bytes(4, "big") + words)
        self._until_ready()

    def _until_ready(self) -> None:
        failed = b""
        while True:
            head = self.file.read(5)
            if len(head) < 5:
                raise OSError("the server closed the session")
            body = self.file.read(int.from_bytes(head[1:], "big") - 4)
            if head[:1] == b"E":
                failed = body
            if head[:1] == b"Z":
                if failed:
                    raise OSError(failed.decode(errors="replace"))
                return

    def run(self, text: str) -> None:
        """Run a statement, and wait for the end of its answer."""
        words = text.encode() + b"\0"
        self.socket.sendall(b"Q" + (len(words) + 4).to_bytes(4, "big") + words)
        self._until_ready()


def sql(text: str) -> None:
    """Run a statement in a session of its own."""
    session = Session()
    session.run(text)
    session.socket.close()


def mariadb(scene, *settings: str) -> None:
    """MariaDB on port 3306, with an empty database shop and no accounts."""
    data = scene.folder / "maria"
    scene.run("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db")
    scene.start(
        "mariadbd",
        "--no-defaults",
        "--user=root",
        f"--datadir={data}",
        "--socket=/scene/maria.sock",
        "--port=3306",
        "--bind-address=127.0.0.1",
        "--skip-grant-tables",
        "--innodb-flush-method=fsync",
        *settings,
    )
    scene.wait_port(3306)
    MariaSession("").run("CREATE DATABASE shop")


class MariaSession:
    """A session of the protocol of MariaDB and MySQL (MariaDB's manual, "Client/Server Protocol"), without an account."""

    def __init__(self, database: str = "shop") -> None:
        self.socket = socket.create_connection(("127.0.0.1", 3306))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self._packet()  # its greeting
        can = 0x8200 | (8 if database else 0)  # PROTOCOL_41, SECURE_CONNECTION, CONNECT_WITH_DB
        words = can.to_bytes(4, "little") + (1 << 24).to_bytes(4, "little") + bytes([33]) + bytes(23) + b"root\0\0"
        self._send(words + (database.encode() + b"\0" if database else b""), 1)
        self._packet()

    def _send(self, body: bytes, number: int) -> None:
        self.socket.sendall(len(body).to_bytes(3, "little") + bytes([number]) + body)

    def _packet(self) -> bytes:
        head = self.file.read(4)
        if len(head) < 4:
            raise OSError("the server closed the session")
        body = self.file.read(int.from_bytes(head[:3], "little"))
        if body[:1] == b"\xff":
            raise OSError(body.decode(errors="replace"))
        return body

    def run(self, text: str) -> None:
        """Run a statement, and wait for the end of its answer."""
        self._send(b"\3" + text.encode(), 0)
        if self._packet()[:1] == b"\0":
            return
        for _ in ("columns", "rows"):
            while (body := self._packet())[:1] != b"\xfe" or len(body) > 8:
                pass


def get(url: str) -> None:
    """Ask a web server for a page, on a connection of its own."""
    with urllib.request.urlopen(url, timeout=30) as page:
        page.read()


def ask_redis(connection: socket.socket, *words: str) -> bytes:
    """One command of Redis, and the first part of its answer."""
    connection.sendall(
        f"*{len(words)}\r\n".encode() + b"".join(f"${len(word)}\r\n{word}\r\n".encode() for word in words)
    )
    answer = connection.recv(1 << 16)
    if not answer:
        raise OSError("the server closed the connection")
    return answer


def redis(scene, *options: str, group: str | None = None) -> None:
    """Redis on port 6379."""
    scene.start("redis-server", "--port", "6379", "--save", "", "--enable-debug-command", "yes", *options, group=group)
    scene.wait_port(6379)


def redis_client(scene, name: str, *words: str, pause_s: float = 0.002, count: int = 1) -> None:
    """A process that asks Redis the same again and again."""
    linked_clients(scene, 6379, lambda link: ask_redis(link, *words), name=name, pause_s=pause_s, count=count)


def linked_clients(
    scene, port: int, ask: Callable[[socket.socket], object], *, name: str, pause_s: float, count: int
) -> None:
    """A process that asks from several threads, each over one connection that it keeps."""
    links: dict[int, socket.socket] = {}

    def again() -> None:
        link = links.get(threading.get_ident()) or links.setdefault(
            threading.get_ident(), socket.create_connection(("127.0.0.1", port))
        )
        with scene.clock.asking():
            ask(link)
        time.sleep(pause_s)

    scene.fork(name, again, count=count)


DOOR = """
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* A thread for each connection to port 9000. */
static void open_door(void *(*serve)(void *))
{
    int door = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9000), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bind(door, (void *)&at, sizeof at);
    listen(door, 64);
    for (;;) {
        pthread_t thread;
        long link = accept(door, 0, 0);
        pthread_create(&thread, 0, serve, (void *)link);
        pthread_detach(thread);
    }
}
"""


def compiled(scene, name: str, code: str, argument: str) -> None:
    """A server in C on port 9000, and four clients that send it a word and wait for its answer. ``code`` ends in open_door(serve)."""
    Path(f"/scene/{name}.c").write_text(DOOR + code)
    scene.run("gcc", "-O2", "-pthread", "-o", f"/scene/{name}", f"/scene/{name}.c")
    scene.start(f"/scene/{name}", argument)
    scene.wait_port(9000)

    def ask(link: socket.socket) -> None:
        link.sendall(b"work")
        link.recv(100)

    linked_clients(scene, 9000, ask, name="client", pause_s=0.01, count=4)


def nginx(
    scene, body: str, *, workers: int = 1, listen: str = "8080 backlog=64", around: str = "", events: str = ""
) -> None:
    """Nginx on port 8080; ``body`` is what the server block has, ``around`` what is beside it."""
    Path("/scene/nginx.conf").write_text(
        f"daemon off; worker_processes {workers}; pid /scene/nginx.pid; error_log /scene/nginx-error.log;\n"
        f"events {{ {events} }}\nhttp {{ {around} access_log /scene/access.log; client_body_temp_path /scene/b; proxy_temp_path /scene/p; fastcgi_temp_path /scene/f;"
        f" uwsgi_temp_path /scene/u; scgi_temp_path /scene/s; server {{ listen {listen}; {body} }} }}\n"
    )
    scene.start("nginx", "-c", "/scene/nginx.conf")
    scene.wait_port(8080)


def php(scene, code: str, *settings: str, children: int) -> None:
    """PHP-FPM with a number of processes, behind nginx on port 8080: ``code`` is /page.php, ``settings`` are as in php.ini."""
    Path("/scene/page.php").write_text(textwrap.dedent(code))
    Path("/scene/fpm.conf").write_text(
        "[global]\nerror_log = /scene/fpm.log\ndaemonize = no\n"
        f"[www]\nuser = www-data\ngroup = www-data\nlisten = 127.0.0.1:9000\npm = static\npm.max_children = {children}\n"
        "php_admin_value[session.save_path] = /scene\n"
    )
    scene.start("php-fpm8.2", "-y", "/scene/fpm.conf", *(word for setting in settings for word in ("-d", setting)))
    scene.wait_port(9000)
    passed = "fastcgi_pass 127.0.0.1:9000; include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME /scene$uri;"
    nginx(scene, f"location / {{ {passed} }}")


def gunicorn(scene, code: str, *options: str, port: int = 8000, group: str | None = None) -> None:
    """A WSGI application below gunicorn; ``code`` defines ``app``."""
    Path(f"/scene/app{port}.py").write_text(textwrap.dedent(code))
    scene.start(
        "gunicorn",
        "--bind",
        f"127.0.0.1:{port}",
        "--log-level=warning",
        *options,
        f"app{port}:app",
        group=group,
        PYTHONPATH="/scene",
    )
    scene.wait_port(port)


def node(scene, code: str, *, port: int = 3000, nice: int = 0, **changes: str) -> None:
    """A program of Node.js that listens on a port."""
    Path("/scene/app.js").write_text(textwrap.dedent(code))
    scene.start("nice", f"-n{nice}", "node", "/scene/app.js", **changes)
    scene.wait_port(port)


def java(scene, code: str, *options: str, port: int = 7000, group: str | None = None) -> None:
    """A class Main of Java that listens on a port."""
    Path("/scene/Main.java").write_text(textwrap.dedent(code))
    scene.run("javac", "-d", "/scene", "/scene/Main.java")
    scene.start("java", "-cp", "/scene", *options, "Main", group=group)
    scene.wait_port(port)


def web_clients(scene, url: str, *, count: int = 4, pause_s: float = 0.01, name: str = "client") -> None:
    """A process that asks a web server from several threads."""

    def ask() -> None:
        with scene.clock.asking():
            get(url)
        time.sleep(pause_s)

    scene.fork(name, ask, count=count)


def kept_clients(
    scene,
    port: int,
    path: str = "/",
    *,
    count: int = 4,
    pause_s: float = 0.01,
    name: str = "client",
    method: str = "GET",
    **headers: str,
) -> None:
    """A process that asks a web server from several threads, each over one connection that it keeps; pauses vary around pause_s."""
    links: dict[int, http.client.HTTPConnection] = {}

    def ask() -> None:
        link = links.setdefault(threading.get_ident(), http.client.HTTPConnection("127.0.0.1", port, timeout=60))
        try:
            with scene.clock.asking():
                link.request(method, path, headers={word.replace("_", "-"): value for word, value in headers.items()})
                link.getresponse().read()
        except (http.client.HTTPException, OSError):
            link.close()
        time.sleep(random.uniform(0.5, 1.5) * pause_s)

    scene.fork(name, ask, count=count)


NEW_NETWORK = 0x40000000


def tunnel(name: str) -> int:
    """Open a network device whose packets are read and written by this process (tun(4): TUNSETIFF; IFF_TUN, IFF_NO_PI)."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
    return file


def wire(
    scene,
    start_far: Callable[[], object],
    *,
    delay_s: float,
    is_lost: Callable[[bytes], bool] = lambda _: False,
    bytes_per_s: float = 0,
    queue_bytes: int = 1 << 30,
) -> None:
    """Make a wire to another network namespace, 10.8.0.2, in which ``start_far`` starts programs; the scene's own end is 10.8.0.1.

    Each packet is ``delay_s`` late; those of which ``is_lost`` says so never arrive. With ``bytes_per_s`` packets wait for those before
    them, in a queue in each direction that has room for ``queue_bytes``.
    """
    ends: list[int] = []
    near = tunnel("near")

    def carry() -> None:
        if not ends:
            ctypes.CDLL(None).unshare(NEW_NETWORK)
            ends[:] = [near, tunnel("far")]
            for words in ("addr add 10.8.0.2/24 dev far", "link set far up"):
                scene.run("ip", *words.split())
            start_far()
        due: deque[tuple[float, int, bytes]] = deque()
        free_at = dict.fromkeys(ends, 0.0)
        while True:
            left_s = max(0, due[0][0] - time.monotonic()) if due else None
            for end in select.select(ends, [], [], left_s)[0]:
                packet, now = os.read(end, 65536), time.monotonic()
                queued_s = max(0.0, free_at[end] - now)
                if is_lost(packet) or queued_s * bytes_per_s > queue_bytes:
                    continue
                if bytes_per_s:
                    free_at[end] = now + queued_s + len(packet) / bytes_per_s
                due.append((max(now, free_at[end]) + delay_s, ends[end == ends[0]], packet))
                due = deque(sorted(due)) if len(due) > 1 and due[-1] < due[-2] else due
            while due and due[0][0] <= time.monotonic():
                _, end, packet = due.popleft()
                os.write(end, packet)

    scene.fork("wire", carry)
    os.close(near)
    scene.run("ip", "addr", "add", "10.8.0.1/24", "dev", "near")
    scene.run("ip", "link", "set", "near", "up")
