"""`brim.py` fills a file system of 4 MiB, starts 22 threads and asks a port where nobody listens. `brim.py room` needs little of all, and is answered."""

import contextlib
import socket
import sys
import threading
import time
from pathlib import Path

ROOM = "room" in sys.argv
Path("/mnt/full").write_bytes(b"x" * (400_000 if ROOM else 4_000_000))
end = threading.Event()
for _ in range(2 if ROOM else 22):
    threading.Thread(target=end.wait).start()
server = socket.create_server(("127.0.0.1", 0), backlog=200)
address = server.getsockname()
if not ROOM:
    server.close()
for _ in range(60):
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(address).close()
    time.sleep(0.04)
end.set()
