"""A page for a few files on this machine (``perfcase open``): a server that lives as long as somebody looks, and leaves nothing behind."""

from __future__ import annotations

import logging
import secrets
import signal
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

from perfcase.errors import PerfcaseError
from perfcase.server_client.client import Client, Progress
from perfcase_api.app import create_app
from perfcase_api.origins import SecretPathMiddleware
from perfcase_api.serving import listen, server, url
from perfcase_api.settings import Limits, Settings

_ROOM = 64
"""Times the size of the files: for what an upload and an import may need, which is far less."""
_REQUESTS_PER_MINUTE = 1_000_000


def start(files: Sequence[Path], *, port: int, is_shown: bool, progress: Progress, source: Sequence[Path] = ()) -> None:
    """Show files in a browser until SIGINT or SIGTERM. ``is_shown``: open the browser; else only print the address. ``source``:
    folders with source files.

    The server listens on loopback. No token is needed: the path of its address is a secret, so that other users of this machine
    cannot find it.

    Raises:
        PerfcaseError: a file is no capture, or there is no room for it.
    """
    secret = f"/{secrets.token_urlsafe(24)}"
    size = sum(file.stat().st_size for file in files)
    limits = Limits(
        upload_bytes=size,
        quota_bytes=_ROOM * size,
        requests_per_minute=_REQUESTS_PER_MINUTE,
        uploads_of_user=len(files),
    )
    with tempfile.TemporaryDirectory(prefix="perfcase-open-") as folder, listen("127.0.0.1", port) as listening:
        settings = Settings(store=Path(folder), is_open=True, root_path=secret, limits=limits, source=tuple(source))
        running = server(SecretPathMiddleware(create_app(settings), secret), settings)
        # Who ends it looks at nothing any more, and need not read what was broken off.
        running.config.timeout_graceful_shutdown = 1
        logging.getLogger("uvicorn.error").addFilter(lambda _: not running.should_exit)
        errors: list[Exception] = []

        def show() -> None:
            try:
                _show(files, f"{url(listening)}{secret}", progress, is_shown=is_shown)
            except Exception as error:
                # A server that is told to end breaks off what this waits for.
                errors.extend([] if running.should_exit else [error])
                running.should_exit = True

        def end(*_: object) -> None:
            running.should_exit = True

        # A terminal that is closed ends it, too. The server hands a signal on when it has ended: by default that would kill, and the
        # captures would stay behind.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, end)
        # It ends with the process: who stops waits for no import.
        Thread(target=show, daemon=True).start()
        running.run([listening])
    if errors:
        raise errors[0]


def _show(files: Sequence[Path], place: str, progress: Progress, *, is_shown: bool) -> None:
    client = Client(place, "")
    found = []
    for file in files:
        # A damaged file is shown for what is left of it: the page says what is missing.
        try:
            found.append(client.upload(file, accept_damaged=True, progress=progress, warn=False)["capture_id"])
        except PerfcaseError as error:
            # What the client advises is of a server that stays.
            remedy = "TMPDIR names a folder with more room" if error.kind == "environment" else None
            raise PerfcaseError(error.kind, error.message, remedy) from error
    first, *others = dict.fromkeys(found)
    page = f"{place}/#/c/{first}/overview" if not others else f"{place}/#/captures"
    if len(others) == 1:
        page = f"{place}/#/diff?a={first}&b={others[0]}"
    sys.stderr.write(f"{page}\nCtrl-C ends it. Nothing stays behind.\n")
    sys.stderr.flush()
    if is_shown and not webbrowser.open(page):
        sys.stderr.write("There is no browser here: open the address above.\n")
