"""One of nginx's four workers accepted all connections that are kept open: it computes all answers, the others have nothing to do.

Source: Majkowski, "Why does one NGINX worker take all the load?", Cloudflare's blog, 2017; accept_mutex and multi_accept in nginx' documentation.
"""

import time

from programs import kept_clients, nginx

CAUSE = "one of nginx's four workers has all connections; the others idle"
NAMED = r"nginx.*(one of|1 of|others|its 4)"
BLAMED = r"^client .*running nginx"
MOVED = r"(client|nginx) waits .*nginx|nginx.*(one of|others)"
TRUE_ALSO = r"cpu_saturation|event_loop_computes"  # of two CPUs; an answer is computed for some 100 ms, and half of the clients may be of one worker


def play(scene):
    folder = scene.folder / "www"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "index.html").write_text("".join(f"<p>{n * 7919 % 10007} words of page {n}</p>\n" for n in range(40_000)))
    nginx(
        scene,
        "root /scene/www; gzip on; gzip_comp_level 9; gzip_types *;",
        workers=4,
        around="keepalive_requests 1000000;",
        listen="8080" if scene.is_bad else "8080 reuseport",
        events="accept_mutex on; multi_accept on; accept_mutex_delay 2s;" if scene.is_bad else "",
    )
    kept_clients(scene, 8080, count=16, pause_s=0.25, Accept_Encoding="gzip")
    with scene.recording():
        time.sleep(1)
