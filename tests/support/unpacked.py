"""All that a file holds: archives within archives, and what is compressed in them."""

from __future__ import annotations

import gzip
import io
import lzma
import subprocess
import tarfile
import zlib
from collections.abc import Iterator

_DEPTH_MAX = 5


def unpacked(name: str, data: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield the file itself and each member of it, with its path: ``capture.perfcase!host/mounts.zst``."""
    yield name, data
    if depth == _DEPTH_MAX:
        return
    try:
        if data[:4] == b"\x28\xb5\x2f\xfd":
            inner = subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False).stdout
        elif data[:6] == b"\xfd7zXZ\0":
            inner = lzma.decompress(data)
        elif data[:2] == b"\x1f\x8b":
            inner = gzip.decompress(data)
        else:
            if data[257:262] == b"ustar":
                with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                    for member in archive:
                        if member.isfile() and (file := archive.extractfile(member)):
                            yield from unpacked(f"{name}!{member.name}", file.read(), depth + 1)
            return
    except (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError):
        return  # cut or damaged on purpose, for a test
    yield from unpacked(name, inner, depth + 1)
