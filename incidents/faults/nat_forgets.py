"""A firewall on the way forgets connections that were idle for half a second, and drops their packets without a word: requests on kept connections hang until their time is over.

Source: RFC 5382, REQ-5 (timeouts of NAT and firewalls for idle connections); AWS, "NAT gateways: connection drops after 350 seconds"; HikariCP, keepaliveTime.
"""

import socket
import time

from programs import ask_redis, gunicorn, kept_clients, wire

CAUSE = "packets of gunicorn to 10.8.0.2:6379 are lost on connections that were idle before; new connections work"
NAMED = (
    r"10\.8\.0\.2:6379.*(was idle|were idle|been idle|idle for|after .{0,40}idle|idle connection|unused|forg[eo]t)|"
    r"(was idle|were idle|been idle|idle for|idle connection|unused|forg[eo]t).*10\.8\.0\.2:6379"
)
BLAMED = r"^(client|gunicorn) .*(network|10\.8\.0\.2)"
MOVED = NAMED
FELT = True


def play(scene):
    seen = {}

    def is_lost(packet):
        ends = tuple(sorted([packet[12:16] + packet[20:22], packet[16:20] + packet[22:24]]))
        now, is_new = time.monotonic(), bool(packet[33] & 2)
        forgotten = not is_new and now - seen.get(ends, 0) > (0.5 if scene.is_bad else 3600)
        if not forgotten:
            seen[ends] = now
        return forgotten

    wire(
        scene,
        lambda: scene.start("redis-server", "--port", "6379", "--save", "", "--protected-mode", "no"),
        delay_s=0.001,
        is_lost=is_lost,
    )

    def fill():
        with socket.create_connection(("10.8.0.2", 6379), 1) as link:
            ask_redis(link, "SET", "stock", "7")

    scene.wait(fill, "the store")
    gunicorn(
        scene,
        """
        import queue, socket
        idle = queue.LifoQueue()
        def app(environ, start_response):
            for _ in range(4):
                try:
                    link = idle.get_nowait()
                except queue.Empty:
                    link = socket.create_connection(("10.8.0.2", 6379), 1)
                try:
                    link.sendall(b"GET stock\\r\\n")
                    if link.recv(100):
                        break
                except OSError:
                    link.close()
            idle.put(link)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--threads=8",
    )
    kept_clients(scene, 8000, count=4, pause_s=1.2)
    with scene.recording():
        time.sleep(1)
