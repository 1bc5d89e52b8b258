"""Each request takes fresh memory from the kernel and gives it back: most of its time is page faults.

Source: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD; Gregg, "Systems Performance", 7.5: page faults.
"""

import time

from programs import gunicorn, kept_clients

CAUSE = "gunicorn spends its requests in page faults (the kernel clears fresh pages)"
NAMED = r"(requests_compute|page_fault).*gunicorn.*(fault|clear_page|memset|zero)"
BLAMED = r"gunicorn"
MOVED = r"gunicorn"


def play(scene):
    gunicorn(
        scene,
        f"""
        import mmap
        kept = bytearray(48 << 20)
        def app(environ, start_response):
            if {scene.is_bad}:
                memory = mmap.mmap(-1, 48 << 20)
                for place in range(0, 48 << 20, 4096):
                    memory[place] = 1
                memory.close()
            else:
                for place in range(0, 48 << 20, 4096):
                    kept[place] = 1
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=2",
    )
    kept_clients(scene, 8000, count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)
