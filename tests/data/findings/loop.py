"""Four clients and a server on an asyncio loop. `loop.py`: the handler sleeps on the loop; `loop.py await`: it awaits."""

import asyncio
import os
import socket
import sys
import time

REQUESTS = 15


async def handle(reader, writer):
    while await reader.read(100):
        if "await" in sys.argv:
            await asyncio.sleep(0.02)
        else:
            time.sleep(0.02)
        writer.write(b"done")
        await writer.drain()
    writer.close()


def client(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(REQUESTS):
            connection.send(b"work")
            connection.recv(100)


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for _ in range(4):
        if os.fork() == 0:
            client(port)
            os._exit(0)
    await asyncio.sleep(2.2)


asyncio.run(main())
