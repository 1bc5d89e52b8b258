"""nginx lets through ten requests a second of one address and delays the others: each waits for a timer that nginx set.

Source: nginx' documentation, ngx_http_limit_req_module: "excessive requests are delayed until their number exceeds the maximum burst size".
"""

import time

from programs import kept_clients, nginx

CAUSE = "nginx delays requests by a timer of its own"
NAMED = r"nginx.*(timer|delay|held)"
BLAMED = r"^client .*nginx"
MOVED = r"nginx"


def play(scene):
    folder = scene.folder / "www"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "index.html").write_text("hello")
    limit = "limit_req zone=each burst=50;" if scene.is_bad else ""
    nginx(
        scene,
        f"root /scene/www; {limit}",
        around="limit_req_zone $binary_remote_addr zone=each:1m rate=10r/s; keepalive_requests 1000000;",
    )
    kept_clients(scene, 8080, count=6)
    with scene.recording():
        time.sleep(1)
