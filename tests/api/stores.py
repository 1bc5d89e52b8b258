"""A store without a server, whose imports a script stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfcase_api.catalogue import Catalogue
from perfcase_api.checking import Checked
from perfcase_api.settings import Limits, Settings
from perfcase_api.uploads import Uploads


async def no_check(*_: object) -> Checked:
    return Checked()


def store_with(
    capture_ids: str, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, limits: Limits | None = None
) -> tuple[Settings, Catalogue, Uploads]:
    """A store with uploaded captures, whose ids are the letters of ``capture_ids``; the script runs in place of each import.

    Its ``$5`` is the folder that the import may write.
    """
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{script}")
    python.chmod(0o755)
    monkeypatch.setattr("perfcase_api.imports.sys.executable", str(python))
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
    return settings, catalogue, uploads
