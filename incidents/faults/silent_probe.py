"""A server does TLS handshakes in the loop that accepts connections. A load balancer's probe connects and says nothing for a while: nobody else gets in meanwhile.

Source: Python's documentation, ssl.SSLContext.wrap_socket: do_handshake_on_connect has "control over the blocking behavior of the socket I/O involved in the handshake".
"""

import socket
import ssl
import time

CAUSE = (
    "api waits in its handshake for balancer, which has connected and says nothing; the connections of browsers queue"
)
NAMED = r"api.*\bbalancer|balancer.*\bapi\b"
BLAMED = r"^(browser|api) .*balancer"
MOVED = r"api.*\bbalancer|balancer"
FELT = True


def play(scene):
    scene.run(
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "9",
        "-keyout", "/scene/key.pem", "-out", "/scene/cert.pem",
    )  # fmt: skip
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 8443))
    door.listen(64)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("/scene/cert.pem", "/scene/key.pem")

    def serve():
        with door.accept()[0] as plain:
            plain.settimeout(10)
            with tls.wrap_socket(plain, server_side=True) as link:
                link.recv(4096)
                link.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    scene.fork("api", serve)

    def probe():
        with socket.create_connection(("127.0.0.1", 8443)):
            time.sleep(0.4 if scene.is_bad else 0.001)
        time.sleep(0.5)

    scene.fork("balancer", probe)
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    def browse():
        with (
            scene.clock.asking(),
            socket.create_connection(("127.0.0.1", 8443)) as plain,
            trusting.wrap_socket(plain) as link,
        ):
            link.sendall(b"GET / HTTP/1.0\r\n\r\n")
            if not link.recv(4096):
                raise OSError("no answer")
        time.sleep(0.05)

    scene.fork("browser", browse, count=3)
    with scene.recording():
        time.sleep(1)
