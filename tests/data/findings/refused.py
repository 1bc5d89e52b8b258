"""A client: `refused.py` asks a port where nobody listens, `refused.py two` a name with two addresses, of which one answers."""

import socket
import sys
import time

server = socket.create_server(("127.0.0.1", 0), backlog=200)
closed = socket.create_server(("127.0.0.1", 0))
addresses = [closed.getsockname()] + ([server.getsockname()] if sys.argv[1:] == ["two"] else [])
closed.close()
for _ in range(60):
    for address in addresses:
        try:
            socket.create_connection(address).close()
        except ConnectionRefusedError:
            continue
    time.sleep(0.02)
