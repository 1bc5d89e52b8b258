"""A capture that wants to be HTML: a sample whose names of threads, symbols, host and files are replaced."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

COMM = b"<img src=x>"
"""As long as the kernel lets a thread's name be."""
SYMBOL = b"<img/src=x/onerror=document.title='hit'>"
TEXT = "<img src=x onerror=\"document.title='hit'\">"


def hostile(sample: Path, comm: bytes, symbols: tuple[bytes, ...]) -> bytes:
    """The sample with threads named ``comm`` and kernel functions ``symbols`` renamed; its checksums agree."""
    with tarfile.open(sample) as archive:
        infos = archive.getmembers()
        files = {info.name: archive.extractfile(info).read() for info in infos if info.isfile()}
    manifest = json.loads(files["manifest.json"])
    for member in manifest["members"]:
        path = member["path"]
        stored = path if path in files else f"{path}.zst"
        if stored not in files:
            continue
        raw = files[stored]
        plain = _zstd(raw, "-dqc") if stored.endswith(".zst") else raw
        # As the kernel and perf write a thread's name: 16 bytes.
        changed = plain.replace(comm.ljust(16, b"\0"), COMM.ljust(16, b"\0"))
        if path.removesuffix(".zst").endswith("kallsyms"):
            for symbol in symbols:
                changed = re.sub(rb"(?m) %b($|\t)" % symbol, rb" %b\1" % SYMBOL, changed)
        if changed == plain:
            continue
        written = _zstd(changed, "-qc") if stored.endswith(".zst") else changed
        is_of_plain = hashlib.sha256(plain).hexdigest() == member["sha256"]
        files[stored] = written
        member.update(size_bytes=len(changed), stored_bytes=len(written))
        member["sha256"] = hashlib.sha256(changed if is_of_plain else written).hexdigest()
    manifest["host"]["hostname"] = manifest["note"] = TEXT
    files["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for info in infos:
            if info.isfile():
                info.size = len(files[info.name])
            archive.addfile(info, io.BytesIO(files[info.name]) if info.isfile() else None)
    return out.getvalue()


def _zstd(data: bytes, how: str) -> bytes:
    return subprocess.run(["zstd", how], input=data, stdout=subprocess.PIPE, check=True).stdout
