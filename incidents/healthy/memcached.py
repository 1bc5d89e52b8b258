"""Memcached with four threads and six clients that read nine times for each write."""

import random
import socket
import threading
import time


def play(scene):
    scene.start("memcached", "-u", "root", "-p", "11211", "-l", "127.0.0.1", "-m", "64")
    scene.wait_port(11211)
    links = {}

    def ask():
        link = links.get(threading.get_ident()) or links.setdefault(
            threading.get_ident(), socket.create_connection(("127.0.0.1", 11211))
        )
        key = random.randint(1, 5000)
        link.sendall(
            f"set k{key} 0 60 100\r\n{'x' * 100}\r\n".encode() if random.random() < 0.1 else f"get k{key}\r\n".encode()
        )
        link.recv(4096)
        time.sleep(random.uniform(0.001, 0.008))

    scene.fork("client", ask, count=6)
    with scene.recording():
        time.sleep(1)
