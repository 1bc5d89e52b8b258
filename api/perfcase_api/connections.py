"""Limits of connections below HTTP: a client cannot block the server by being idle, slow, or not reading.

uvicorn limits the size of a head and the time between two requests. This module limits the number of connections, the time for
a head, and the lowest rate at which a body arrives and an answer is read.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from perfcase_api.settings import ConnectionLimits

Network = IPv4Network | IPv6Network

HEAD_BYTES = 16 << 10
"""A request line and its headers have no more."""
_REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 10\r\n\r\n"
_FILES_BESIDES = 256
"""Files that the server itself needs open."""
_UNSENT_BYTES = 64 << 10
"""That the kernel takes before the client has read: else a slow reader would look like one who does not read at all."""


def room(limits: ConnectionLimits) -> ConnectionLimits:
    """Return the limits with no more connections than this process may have files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections_max * 2 + _FILES_BESIDES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = max(1, (soft - _FILES_BESIDES) // 2)
    return limits if most >= limits.connections_max else replace(limits, connections_max=most)


class _Counted:
    """A transport that knows how many bytes were given to it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.given_bytes = 0

    def write(self, data: bytes) -> None:
        self.given_bytes += len(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a transport has
        return getattr(self._transport, name)


class Connection(H11Protocol):
    """A connection with a client. A server has a class of its own (``of``)."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    proxies: ClassVar[tuple[Network, ...]] = ()
    """Where many clients come from."""
    _open: ClassVar[Counter[str]] = Counter()

    @classmethod
    def of(cls, limits: ConnectionLimits, proxies: Iterable[str]) -> type[Connection]:
        """Return the connections of a server."""
        return type(
            "Connection",
            (cls,),
            {"limits": room(limits), "proxies": tuple(map(ip_network, proxies)), "_open": Counter()},
        )

    _watch: asyncio.TimerHandle | None = None
    _counted = ""
    _came_bytes = 0
    _waited_s = 0.0
    _seen: tuple[str, int] = ("", 0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or refuse one too many."""
        counted = _Counted(transport)
        super().connection_made(counted)  # type: ignore[arg-type]
        kernel = transport.get_extra_info("socket")
        if kernel is not None and kernel.family in (socket.AF_INET, socket.AF_INET6):
            kernel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
        address = self.client[0] if self.client else "-"
        limits = self.limits
        most = limits.connections_max if self._is_proxy(address) else limits.connections_of_address_max
        if len(self.connections) > limits.connections_max or self._open[address] >= most:
            transport.write(_REFUSED)
            transport.close()
        self._counted = address
        self._open[address] += 1
        self._watch = self.loop.call_later(limits.look_s, self._look)

    def _is_proxy(self, address: str) -> bool:
        try:
            return any(ip_address(address) in network for network in self.proxies)
        except ValueError:
            return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._watch is not None:
            self._watch.cancel()
        self._open[self._counted] -= 1
        if self._open[self._counted] <= 0:
            del self._open[self._counted]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes, and pass them on."""
        self._came_bytes += len(data)
        if not self.transport.is_closing():
            super().data_received(data)

    def _look(self) -> None:
        """Check whether the client made progress since the last check."""
        self._watch = self.loop.call_later(self.limits.look_s, self._look)
        waits_for, at_bytes = self._progress()
        before, before_bytes = self._seen
        self._seen = (waits_for, at_bytes)
        if waits_for != before:
            self._waited_s = 0.0
            return
        # A client that polls is between two requests at each look, and got an answer since the last one.
        least = 1 if waits_for == "head" else self.limits.bytes_per_s_min * self.limits.look_s
        if not waits_for or at_bytes - before_bytes >= least:
            self._waited_s = 0.0
            return
        self._waited_s += self.limits.look_s
        if self._waited_s >= self.limits.patience_s:
            # Not close: that waits until all is sent.
            self.transport.abort()

    def _progress(self) -> tuple[str, int]:
        """Return what the server waits for from the client, and how far it is."""
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            return "reader", self.transport.given_bytes - unsent  # type: ignore[attr-defined]
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return "head", self.transport.given_bytes  # type: ignore[attr-defined]
        if cycle.more_body and not self.flow.read_paused and not cycle.waiting_for_100_continue:
            return "body", self._came_bytes
        return "", 0
