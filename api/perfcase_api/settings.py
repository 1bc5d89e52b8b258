"""The settings of a server."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds on what one client may make the server do."""

    upload_bytes: int = 8 * GIB
    """The size of one capture."""
    quota_bytes: int = 64 * GIB
    """The size of all that was uploaded with one token."""
    uploads_of_user: int = 100
    """Begun with one token and not finished."""
    unfinished_seconds: float = 7 * 86_400.0
    """An upload that gets no bytes for so long is forgotten, and what has arrived of it is removed."""
    body_bytes: int = 1 * MIB
    """Most that a request may have, except the bytes of an upload."""
    requests_per_minute: int = 600
    """Those of one token; without a token, those of one address."""
    job_seconds: float = 120.0
    """CPU time of an analysis, on all CPUs together: on a busy machine it takes longer, and is answered all the same. One that
    only waits is stopped after ten times as long."""
    job_memory_bytes: int = 8 * GIB
    """Address space of the process of an analysis: several times what it uses. A diff of two captures of 1 MB takes 5 GiB."""
    job_output_bytes: int = 256 * MIB
    job_rows: int = 1_000_000
    jobs_per_user: int = field(default_factory=lambda: max(1, (os.cpu_count() or 2) - 1))
    """At once; more wait. Below the number of processes, so that nobody keeps the others waiting."""
    import_seconds: float = 3600.0
    """CPU time of an import, on all CPUs together; one that only waits is stopped after ten times as long."""
    import_memory_bytes: int = 24 * GIB
    """Address space of the process of an import: what it decompresses is mapped from a file."""
    import_file_bytes: int = 64 * GIB
    """Most that an import may write."""
    import_files_max: int = 10_000
    cache_bytes: int = 2 * GIB
    """The size of all answers that are kept."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Bounds on connections, no matter which client has them."""

    connections_max: int = 1024
    """At once; fewer where the process may not have twice as many files open."""
    connections_of_address_max: int = 256
    """From one address that is no trusted proxy."""
    patience_s: float = 30.0
    """How long a client may send no head, or nothing of a body, or read nothing of an answer."""
    bytes_per_s_min: int = 1024
    """Slower than this counts as nothing."""
    look_s: float = 5.0
    """How often that is looked at."""


@dataclass(frozen=True)
class Rule:
    """Who may what of those who sign in with an account of an identity provider."""

    value: str
    """A value of the claim; * for everybody who has an account."""
    role: str
    ticket_prefix: str = ""


@dataclass(frozen=True)
class Oidc:
    """An identity provider."""

    issuer: str
    client_id: str
    url: str
    """Where browsers find this server."""
    rules: tuple[Rule, ...]
    """The first that fits counts; a person without one may not sign in."""
    name: str = "single sign-on"
    """What the page's button says."""
    client_secret: str = field(default="", repr=False)
    scope: str = "openid profile email"
    claim: str = "groups"
    """The claim of the ID token that the rules are about; a.b is b in a."""


@dataclass(frozen=True)
class Settings:
    """A server's settings."""

    store: Path
    host: str = "127.0.0.1"
    port: int = 8640
    is_open: bool = False
    """Nobody needs a token; on loopback only."""
    workers: int = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    """Processes for analyses."""
    limits: Limits = Limits()
    connections: ConnectionLimits = ConnectionLimits()
    oidc: Oidc | None = None
    root_path: str = ""
    """Below which path of a proxy's address the server is, as /perfcase."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    access_log: Path | None = None
    """A file with a line for each request; - is standard error."""
    only_redacted: bool = False
    """Captures are taken only if their manifest says that they are redacted."""
    source: tuple[Path, ...] = ()
    """Folders with source files. Every reader sees their text: a capture says which lines its functions have."""
    audit_days: int = 400
    """After so many days entries of the audit log go to files."""

    @property
    def top(self) -> str:
        """The path of the page, which cookies are for."""
        return f"{self.root_path}/"

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
