"""A worker of gunicorn dies by a segmentation fault in each export: its client's connection closes without an answer, and a new worker starts.

Source: signal(7), SIGSEGV; gunicorn's documentation, "Design", "Master": it starts a worker again that has died.
"""

import time

from programs import gunicorn, web_clients

CAUSE = "workers of gunicorn are killed by SIGSEGV (signal 11) while they make an export"
NAMED = r"gunicorn.*(SIGSEGV|signal 11|segmentation|segfault)"
BLAMED = ""
MOVED = r"(SIGSEGV|signal 11|segmentation|segfault)"
FELT = True


def play(scene):
    gunicorn(
        scene,
        f"""
        import ctypes, resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        def app(environ, start_response):
            if environ["PATH_INFO"] == "/export" and {scene.is_bad}:
                ctypes.string_at(0)
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=3",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=2, name="client")
    web_clients(scene, "http://127.0.0.1:8000/export", count=1, name="exporter", pause_s=0.3)
    with scene.recording():
        time.sleep(1)
