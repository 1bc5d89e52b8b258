"""A handler sends a mail before it answers, and the mail server lets each client wait for its greeting (a look-up of black lists).

Source: RFC 5321, 4.5.3.2.1: servers "may be delayed" before they greet, clients wait up to 5 minutes; Postfix' postscreen_greet_wait.
"""

import socketserver
import time

from programs import gunicorn, web_clients

CAUSE = "gunicorn waits for the greeting of postfix at 127.0.0.1:25"
NAMED = r"gunicorn.*(127\.0\.0\.1:25\b|postfix)"
BLAMED = r"^(client|gunicorn) .*(127\.0\.0\.1:25\b|postfix)"
MOVED = r"gunicorn.*(127\.0\.0\.1:25\b|postfix)"
FELT = True


def play(scene):
    class Mail(socketserver.StreamRequestHandler):
        def handle(self):
            time.sleep(0.3 if scene.is_bad else 0.002)
            self.wfile.write(b"220 mail.internal ESMTP\r\n")
            is_text = False
            while line := self.rfile.readline():
                if is_text and line != b".\r\n":
                    continue
                is_text = line.upper().startswith(b"DATA")
                if line.upper().startswith(b"QUIT"):
                    self.wfile.write(b"221 bye\r\n")
                    return
                self.wfile.write(b"354 go on\r\n" if is_text else b"250 ok\r\n")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    scene.fork("postfix", lambda: Server(("127.0.0.1", 25), Mail).serve_forever())
    scene.wait_port(25)
    gunicorn(
        scene,
        """
        import smtplib
        def app(environ, start_response):
            with smtplib.SMTP("127.0.0.1", 25, local_hostname="shop.internal") as mail:
                mail.sendmail("shop@shop.internal", "you@mail.internal", "Subject: order\\n\\nThank you")
            start_response("200 OK", [])
            return [b"hello"]
        """,
        "--workers=4",
    )
    web_clients(scene, "http://127.0.0.1:8000/", count=3, pause_s=0.05)
    with scene.recording():
        time.sleep(1)
