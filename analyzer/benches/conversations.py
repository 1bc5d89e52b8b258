"""The workload of the capture with many sockets: a client and a server that talk over N connections, by epoll.

python conversations.py CONNECTIONS ROUNDS
"""

from __future__ import annotations

import os
import resource
import select
import socket
import sys

QUESTION, ANSWER = b"q" * 50, b"a" * 200


def serve(listener: socket.socket, connections: int) -> None:
    """Answers each question until all clients have gone."""
    epoll = select.epoll()
    epoll.register(listener.fileno(), select.EPOLLIN)
    listener.setblocking(False)
    open_ones: dict[int, socket.socket] = {}
    gone = 0
    while gone < connections:
        for handle, _ in epoll.poll():
            if handle == listener.fileno():
                while (accepted := accept(listener)) is not None:
                    open_ones[accepted.fileno()] = accepted
                    epoll.register(accepted.fileno(), select.EPOLLIN)
            elif open_ones[handle].recv(4096):
                open_ones[handle].send(ANSWER)
            else:
                epoll.unregister(handle)
                open_ones.pop(handle).close()
                gone += 1


def accept(listener: socket.socket) -> socket.socket | None:
    """The next connection, if one waits."""
    try:
        return listener.accept()[0]
    except BlockingIOError:
        return None


def ask(address: tuple[str, int], connections: int, rounds: int) -> None:
    """Opens all connections, and asks on each as often as told."""
    epoll = select.epoll()
    left: dict[int, list] = {}
    for _ in range(connections):
        one = socket.create_connection(address)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        epoll.register(one.fileno(), select.EPOLLIN)
        left[one.fileno()] = [one, rounds]
        one.send(QUESTION)
    while left:
        for handle, _ in epoll.poll():
            entry = left[handle]
            entry[0].recv(4096)
            entry[1] -= 1
            if entry[1]:
                entry[0].send(QUESTION)
            else:
                epoll.unregister(handle)
                left.pop(handle)[0].close()


def main() -> None:
    """The server is a child."""
    connections, rounds = int(sys.argv[1]), int(sys.argv[2])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    if os.fork() == 0:
        serve(listener, connections)
        os._exit(0)
    ask(listener.getsockname(), connections, rounds)
    os.wait()


if __name__ == "__main__":
    main()
