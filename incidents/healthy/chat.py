"""A chat over kept connections: eight people say something each second or two, everybody gets it; pings keep it open."""

import random
import socket
import threading
import time

from programs import node


def play(scene):
    node(
        scene,
        """
        const net = require('net');
        const all = new Set();
        net.createServer(socket => {
          all.add(socket);
          socket.on('data', data => { if (data[0] !== 112) for (const other of all) other.write(data); else socket.write('pong\\n'); });
          socket.on('close', () => all.delete(socket));
          socket.on('error', () => {});
        }).listen(3000, '127.0.0.1');
        """,
    )
    links = {}

    def person():
        link = links.get(threading.get_ident())
        if not link:
            link = links[threading.get_ident()] = socket.create_connection(("127.0.0.1", 3000))
        link.settimeout(random.uniform(0.5, 2))
        try:
            link.recv(4096)
        except TimeoutError:
            link.sendall(random.choice([b"ping\n", b"hello all\n"]))

    scene.fork("person", person, count=8)
    with scene.recording():
        time.sleep(1)
