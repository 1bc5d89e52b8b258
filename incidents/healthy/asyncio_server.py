"""A server of asyncio: each answer asks Redis with a time limit of 1 s, which it never needs, and tasks wake up each 50 ms."""

import textwrap
import time

from programs import kept_clients, redis

CODE = """
import asyncio

async def serve(reader, writer):
    store_reader, store_writer = await asyncio.open_connection("127.0.0.1", 6379)
    try:
        while (line := await reader.readline()):
            while line.strip():
                line = await reader.readline()
            store_writer.write(b"INCR served\\r\\n")
            await asyncio.wait_for(store_reader.readline(), 1)
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
            await writer.drain()
    finally:
        writer.close()
        store_writer.close()

async def tick():
    while True:
        await asyncio.sleep(0.05)

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 8000)
    await asyncio.gather(server.serve_forever(), tick(), tick())

asyncio.run(main())
"""


def play(scene):
    redis(scene)
    (scene.folder / "server.py").write_text(textwrap.dedent(CODE))
    scene.start("python3", "/scene/server.py")
    scene.wait_port(8000)
    kept_clients(scene, 8000, count=6, pause_s=0.03)
    with scene.recording():
        time.sleep(1)
