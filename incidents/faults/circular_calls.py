"""A page asks a price service, which asks the page's own service back: both workers wait there, so nobody is left to answer, until a second is over.

Source: "Site Reliability Engineering", chapter 22: "intra-layer communication ... is susceptible to a distributed deadlock".
"""

import time

from programs import gunicorn, web_clients

CAUSE = "both workers of gunicorn at 127.0.0.1:8000 wait for 127.0.0.1:8001, which waits for 127.0.0.1:8000"
NAMED = r"8000.*8001|8001.*8000|wait for each other"
BLAMED = r"^(client|gunicorn) .*(8000.*8001|8001.*8000|each other)"
MOVED = r"8000.*8001|8001.*8000|wait for each other"
FELT = True

ASK = """
        import urllib.request
        def ask(url):
            try:
                with urllib.request.urlopen(url, timeout=1) as page:
                    return page.read()
            except OSError:
                return b"0"
"""


def play(scene):
    gunicorn(
        scene,
        f"""
        {ASK}
        def app(environ, start_response):
            body = b"7" if environ["PATH_INFO"] == "/tax" else ask("http://127.0.0.1:8001/")
            start_response("200 OK", [])
            return [body]
        """,
        "--workers=2",
    )
    gunicorn(
        scene,
        f"""
        {ASK}
        def app(environ, start_response):
            body = {'ask("http://127.0.0.1:8000/tax")' if scene.is_bad else 'b"7"'}
            start_response("200 OK", [])
            return [body]
        """,
        "--workers=4",
        port=8001,
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=4, pause_s=0.1)
    with scene.recording():
        time.sleep(1)
