"""A folder of a service is a file system in user space (such as s3fs or sshfs), whose daemon takes 150 ms for each read of a file.

Source: Linux' documentation, filesystems/fuse.rst: the kernel waits for the daemon's reply to each request; s3fs-fuse's FAQ.
"""

import contextlib
import ctypes
import os
import struct
import time
from pathlib import Path

from programs import gunicorn, web_clients

CAUSE = "gunicorn waits in read for /mnt/price.json, a file that s3fs answers for"
NAMED = r"gunicorn.*(s3fs|/mnt/price|\bfuse)"
BLAMED = r"^(client|gunicorn) .*(s3fs|/mnt/price|\bfuse)"
MOVED = r"gunicorn.*(s3fs|/mnt/price|\bfuse)"
FELT = True

TEXT = b'{"price": 7}'
INIT, LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INTERRUPT = 26, 1, 2, 3, 14, 15, 18, 25, 36


def attributes(node):
    """struct fuse_attr of linux/fuse.h: the root folder is node 1, its file node 2."""
    mode, size = (0o40755, 0) if node == 1 else (0o100644, len(TEXT))
    return struct.pack("<6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(code, node, body):
    """The reply to a request, after its header; None: there is none."""
    if code == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 26, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, *[0] * 7)
    if code == LOOKUP and body == b"price.json\0":
        return struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + attributes(2)
    if code == GETATTR:
        return struct.pack("<Q2I", 60, 0, 0) + attributes(node)
    if code == OPEN:
        return struct.pack("<Q2I", 1, 1, 0)  # FOPEN_DIRECT_IO
    return TEXT if code == READ else b"" if code in (RELEASE, FLUSH) else None


def play(scene):
    file = os.open("/dev/fuse", os.O_RDWR)
    words = f"fd={file},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if ctypes.CDLL(None, use_errno=True).mount(b"s3fs", b"/mnt", b"fuse.s3fs", 0, words):
        raise OSError(ctypes.get_errno(), "mount")

    def serve():
        request = os.read(file, 1 << 18)
        _, code, unique, node = struct.unpack_from("<2I2Q", request)
        if code in (FORGET, INTERRUPT):
            return
        if code == READ:
            offset = struct.unpack_from("<2Q", request, 40)[1]
            time.sleep(0.15 if scene.is_bad else 0.001)
        body = answer(code, node, request[40:])
        if code == READ:
            body = body[offset:]
        with contextlib.suppress(OSError):
            head = struct.pack("<IiQ", 16 + len(body or b""), -38 if body is None else 0, unique)
            os.write(file, head + (body or b""))

    scene.fork("s3fs", serve, count=4)
    os.close(file)
    scene.wait(lambda: Path("/mnt/price.json").read_text(), "the file")
    gunicorn(
        scene,
        """
        def app(environ, start_response):
            with open("/mnt/price.json", "rb", buffering=0) as file:
                body = file.read(100)
            start_response("200 OK", [])
            return [body]
        """,
        "--workers=2",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=3, pause_s=0.05)
    with scene.recording():
        time.sleep(1)
