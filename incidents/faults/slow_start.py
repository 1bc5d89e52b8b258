"""A page of 300 kB comes over a way of 40 ms there and back, on a connection that is kept; but after each pause of its reader the server begins with ten packets again.

Source: RFC 5681, 4.1, "Restarting Idle Connections"; ip-sysctl, tcp_slow_start_after_idle; Grigorik, "High Performance Browser Networking", chapter 2.
"""

import http.client
import threading
import time
from pathlib import Path

from programs import nginx, wire

CAUSE = "answers of nginx at 10.8.0.2:8080 take several round trips: its congestion window is small again after each idle time (slow start)"
NAMED = r"10\.8\.0\.2.*(congestion window|slow start|cwnd)|(congestion window|slow start|cwnd).*10\.8\.0\.2"
BLAMED = r"^browser .*(10\.8\.0\.2|network)"
TRUE_ALSO = r"interface_drops|tcp_retransmits"  # windows that stay large fill the queue of the device (500 packets)
MOVED = r"congestion window|slow start|cwnd"
FELT = True


def play(scene):
    Path("/scene/page.html").write_bytes(b"x" * 300_000)

    def start_far():
        scene.run("ip", "link", "set", "lo", "up")
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("reno")  # BBR does not begin again
        Path("/proc/sys/net/ipv4/tcp_slow_start_after_idle").write_text("1" if scene.is_bad else "0")
        nginx(scene, "root /scene;", listen="10.8.0.2:8080; listen 127.0.0.1:8080")

    wire(scene, start_far, delay_s=0.02)
    links = {}

    def ask():
        link = links.setdefault(threading.get_ident(), http.client.HTTPConnection("10.8.0.2", 8080, timeout=5))
        with scene.clock.asking():
            link.request("GET", "/page.html")
            link.getresponse().read()
        time.sleep(1.5)

    def once():
        link = http.client.HTTPConnection("10.8.0.2", 8080, timeout=1)
        link.request("GET", "/page.html")
        link.getresponse().read()
        link.close()

    scene.wait(once, "nginx")
    scene.fork("browser", ask, count=6)
    time.sleep(12)  # the windows have grown
    with scene.recording():
        time.sleep(1)
