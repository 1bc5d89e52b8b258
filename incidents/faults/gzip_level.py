"""nginx compresses each answer of a megabyte again, at the highest level: its only worker computes most of the time, and answers come one by one.

Source: nginx's documentation, ngx_http_gzip_module (gzip_comp_level, gzip_static); zlib's manual: level 9 is several times slower than level 1.
"""

import random
import time
from pathlib import Path

from programs import kept_clients, nginx

CAUSE = "nginx computes in zlib (deflate), for each answer"
NAMED = r"nginx.*(deflate|gzip|libz|zlib)"
BLAMED = r"^(client|nginx) .*(nginx.*(deflate|gzip|libz|zlib))"
MOVED = r"nginx.*(deflate|gzip|libz|zlib)"
FELT = True


def play(scene):
    some = random.Random(7)
    rows = ",".join(
        f'{{"id": {n}, "name": "{some.randbytes(4).hex()}", "price": {some.random():.3f}}}' for n in range(20_000)
    )
    Path("/scene/www").mkdir()
    Path("/scene/www/list.json").write_text(f"[{rows}]")
    nginx(
        scene,
        f"root /scene/www; gzip on; gzip_types *; gzip_comp_level {9 if scene.is_bad else 1};",
    )
    kept_clients(scene, 8080, "/list.json", count=2, pause_s=0.1, Accept_Encoding="gzip")
    with scene.recording():
        time.sleep(1)
