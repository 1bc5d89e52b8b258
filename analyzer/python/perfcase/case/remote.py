"""Captures in object storage: FILE may be a URL, ``s3://bucket/incidents/a.perfcase`` or ``https://…``.

Each object has one copy, in the user's cache, with its import beside it. The copy is taken again when the object has changed. The names
in a store are strangers': a copy is in a folder that is named by a hash of its URL, and only the end of its name is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from perfcase.case import database, place
from perfcase.errors import PerfcaseError
from perfcase.text import safe

_URL = re.compile(r"(s3|https?)://", re.IGNORECASE)
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60
"""How long a store may say nothing. The libraries would wait for minutes, and end a long file after five of them."""
_ENDS = (".perfcase", ".data", ".dat")
"""Names of captures in a store. To look into every object of a bucket could cost a fortune."""
_IDENTITY = ("ETag", "LastModified", "Last-Modified", "VersionId")
"""What a store says of an object that changes with it."""
_ABOUT = ".object.json"
_NAME_BYTES_MAX = 200
_PIECE_BYTES = 8 << 20
_LEFT_BYTES, _LEFT_PARTS = 1 << 30, 20
"""What a copy leaves of the disk: so many bytes, or a twentieth of it if that is less."""
_HINTS = {
    "s3": "s3:// takes AWS_PROFILE, AWS_ACCESS_KEY_ID and the like, and AWS_ENDPOINT_URL for a store that is not Amazon's",
    "http": "does another program get it from there?",
}

Progress = Callable[[str, int, int | None], None]
"""Called with what goes on, the bytes so far and of how many."""


@dataclass(frozen=True)
class Object:
    """An object of a store."""

    url: str
    name: str
    """Its name below the store, for people."""
    size: int | None
    """In bytes; None where the server does not say."""
    identity: str | None
    """Changes with its content; None where the server says nothing that would."""


def is_url(place: object) -> bool:
    """Return whether this is the URL of a capture or a store, and not a path."""
    return isinstance(place, str) and _URL.match(place) is not None


def shown(url: str) -> str:
    """Return a URL without what gives access: a password, or the signature of a link that somebody shared."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def fetch(url: str, progress: Progress = lambda _what, _done, _of: None) -> Path:
    """Return the copy of the object at ``url``, taken now if there is none or the object has changed.

    Raises:
        PerfcaseError: there is no such object (not_found), the store refuses it (not_permitted), it cannot be reached, a package
            is missing, or the disk is full (environment).
    """
    with _explained(url):
        return copy(_object(url, "", _system(url).info(url)), progress)


def below(url: str) -> list[Object]:
    """Return the captures below a URL, by their names: objects that end in .perfcase, .data or .dat. One that is named itself counts.

    Raises:
        PerfcaseError: as ``fetch``.
    """
    with _explained(url):
        system = _system(url)
        if not url.lower().startswith("s3:"):
            return [_object(url, PurePosixPath(urlsplit(url).path).name, system.info(url))]
        # With a slash, or a folder "a" would list "ab" too.
        found = {} if url.endswith(_ENDS) else system.find(url.rstrip("/") + "/", detail=True)
        if not found:
            about = system.info(url)
            found = {about["name"]: about} if about["type"] == "file" else {}
    root = url.partition("://")[2].rstrip("/")
    return [
        _object(f"s3://{key}", key.removeprefix(root).lstrip("/") or key, about)
        for key, about in sorted(found.items())
        if key.endswith(_ENDS)
    ]


def copy(wanted: Object, progress: Progress = lambda _what, _done, _of: None) -> Path:
    """Return the copy of an object, taken now if there is none or the object has changed. Errors: as ``fetch``."""
    path = _place(wanted.url)
    about = path.with_name(_ABOUT)
    now = {"url": shown(wanted.url), "size": wanted.size, "identity": wanted.identity}
    with place.locked(path), _explained(wanted.url):
        if wanted.identity and _about(about) == now and path.is_file() and path.stat().st_size == wanted.size:
            return path
        part = path.with_name(f".fetching-{os.getpid()}")
        try:
            got = _get(wanted, part, progress)
            after = _object(wanted.url, wanted.name, _system(wanted.url).info(wanted.url))
            if after.identity != wanted.identity or got != (wanted.size if wanted.size is not None else got):
                text = f"{safe(shown(wanted.url))}: it changed while it was read, or was cut off: {got:,} bytes came"
                raise PerfcaseError("environment", text, "try again")
            about.unlink(missing_ok=True)
            part.replace(path)
            about.write_text(json.dumps(now), encoding="utf-8")
        finally:
            part.unlink(missing_ok=True)
    return path


def url_of(path: Path) -> str | None:
    """Return the URL that a copy is of, without what gives access; None for a file that is no copy."""
    about = path.with_name(_ABOUT)
    found = _about(about) if about.is_file() and path.parent.parent == _folder() else {}
    return str(found["url"]) if "url" in found else None


def _get(wanted: Object, part: Path, progress: Progress) -> int:
    """Write an object to ``part``. Return its length in bytes.

    It is read piece by piece here, and not by the library in a thread of its own: Ctrl-C and a full disk end it at once.
    """
    name, done = _place(wanted.url).name, 0
    # Nobody else may read it: the folder may have been made by another program.
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as target, _system(wanted.url).open(wanted.url, cache_type="none") as source:
        while piece := source.read(_PIECE_BYTES):
            try:
                target.write(piece)
                target.flush()
            except OSError as error:
                raise place.unwritable(_folder(), error, "set XDG_CACHE_HOME") from error
            done += len(piece)
            _refuse_to_fill()
            progress(f"fetching {name}", done, wanted.size)
        os.fsync(handle)
    return done


def _refuse_to_fill() -> None:
    """Raise where little of the disk is left: a server may send for ever, and others write there too."""
    disk = shutil.disk_usage(_folder())
    if disk.free < min(_LEFT_BYTES, disk.total // _LEFT_PARTS):
        text = f"{_folder()}: only {disk.free:,} bytes are left on its disk"
        raise PerfcaseError("environment", text, "free space there, or set XDG_CACHE_HOME")


def _object(url: str, name: str, about: dict[str, Any]) -> Object:
    told = [f"{each}={about[each]}" for each in _IDENTITY if about.get(each)]
    return Object(url, name, about.get("size"), " ".join(told) or None)


def _place(url: str) -> Path:
    # A link that was signed again is of the same object.
    named = shown(url)
    name = re.sub(r"[^\w.+@=-]", "_", PurePosixPath(urlsplit(named).path).name).strip(".") or "capture"
    kept = name.encode()[-_NAME_BYTES_MAX:].decode(errors="ignore")
    return _folder() / hashlib.sha256(named.encode()).hexdigest()[:32] / kept


def _folder() -> Path:
    folder = database.cache_folder() / "fetched"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _about(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _system(url: str) -> Any:  # noqa: ANN401 - fsspec is loaded where it is needed
    try:
        import fsspec

        # No listing is kept: what is asked now is answered now.
        scheme = urlsplit(url).scheme.lower()
        return fsspec.filesystem(scheme, use_listings_cache=False, **(_s3() if scheme == "s3" else _http()))
    except ImportError as error:
        raise PerfcaseError("environment", f"{safe(shown(url))}: {error}", "pip install 'perfcase[remote]'") from error


def _s3() -> dict[str, Any]:
    patience = {"connect_timeout": _CONNECT_SECONDS, "read_timeout": _ANSWER_SECONDS, "retries": {"max_attempts": 3}}
    return {"config_kwargs": patience}


def _http() -> dict[str, Any]:
    import aiohttp

    patience = aiohttp.ClientTimeout(sock_connect=_CONNECT_SECONDS, sock_read=_ANSWER_SECONDS)
    # A proxy is used where the environment names one.
    return {"client_kwargs": {"trust_env": True, "timeout": patience}}


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn what the libraries of stores raise, which have many kinds of errors, into ours."""
    hint = _HINTS["s3" if url.lower().startswith("s3:") else "http"]
    try:
        yield
    except PerfcaseError:
        raise
    except FileNotFoundError as error:
        raise PerfcaseError("not_found", f"{safe(shown(url))}: no such object") from error
    except PermissionError as error:
        raise PerfcaseError("not_permitted", f"{safe(shown(url))}: the store refuses it", hint) from error
    except Exception as error:
        kind = "not_permitted" if "Credentials" in type(error).__name__ else "environment"
        reason = safe(f"{type(error).__name__}: {error}".splitlines()[0].replace(url, shown(url)))
        raise PerfcaseError(kind, f"{safe(shown(url))}: cannot be read: {reason}", hint) from error
