"""A store without a server, whose imports a script stands for."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

from perfcase_api.catalogue import Catalogue
from perfcase_api.checking import Checked
from perfcase_api.settings import Limits, Settings
from perfcase_api.uploads import Uploads


async def no_check(*_: object) -> Checked:
    return Checked()


class Scripted:
    """In place of perfcase_api.nursery.Nursery: each import is a script, whose ``$folder`` is what the import may write."""

    def __init__(self, script: Path) -> None:
        self._script = script

    async def child(self, line_max: int) -> ScriptedChild:
        far, near = os.pipe()
        process = await asyncio.create_subprocess_exec(
            "sh", self._script, stdin=far, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, limit=line_max
        )
        os.close(far)
        return ScriptedChild(process, near)


class ScriptedChild:
    """In place of perfcase_api.nursery.Child."""

    def __init__(self, process: asyncio.subprocess.Process, stdin: int) -> None:
        self._process, self._stdin = process, stdin
        self.stdout, self.kill, self.wait = process.stdout, process.kill, process.wait

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    def order(self, line: bytes) -> None:
        with os.fdopen(self._stdin, "w") as pipe:
            print(json.loads(line)["folder"], file=pipe)

    def close(self) -> None: ...


def store_with(
    capture_ids: str, folder: Path, script: str, limits: Limits | None = None
) -> tuple[Settings, Catalogue, Uploads, Scripted]:
    """A store with uploaded captures, whose ids are the letters of ``capture_ids``, and what runs the script for each import."""
    file = folder / "import.sh"
    file.write_text(f"read -r folder\n{script}")
    settings = Settings(folder / "store", limits=limits or Limits())
    settings.store.mkdir()
    catalogue = Catalogue(settings.store / "catalogue.sqlite3")
    uploads = Uploads(settings, catalogue, no_check)
    for capture_id in capture_ids:
        (uploads.captures / capture_id).mkdir()
        uploads.file(capture_id).write_bytes(b"x")
        catalogue.write(
            "INSERT INTO capture (capture_id, name, size_bytes, state, uploaded_ns) VALUES (?, 'x', 1, 'uploaded', 0)",
            (capture_id,),
        )
    return settings, catalogue, uploads, Scripted(file)
