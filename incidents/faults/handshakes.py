"""Each client opens a TLS connection of its own for each request: the server computes signatures most of the time.

Source: nginx documentation, "Configuring HTTPS servers": "the most CPU-intensive operation is the SSL handshake".
"""

import ssl
import threading
import time
from pathlib import Path

CAUSE = "nginx computes TLS handshakes (RSA in libcrypto), one for each request"
NAMED = r"nginx.*(libcrypto|rsaz|bn_|RSA|handshake|ossl)"
BLAMED = r"(nginx|client) .*(libcrypto|rsaz|bn_|RSA|ossl)"
MOVED = r"nginx"


def play(scene):
    import http.client

    scene.run(
        "openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-subj", "/CN=localhost", "-days", "9",
        "-keyout", "/scene/key.pem", "-out", "/scene/cert.pem",
    )  # fmt: skip
    Path("/scene/nginx.conf").write_text(
        "daemon off; worker_processes 1; pid /scene/nginx.pid; error_log /scene/nginx-error.log;\n"
        "events {}\nhttp { access_log off; client_body_temp_path /scene/b; proxy_temp_path /scene/p; fastcgi_temp_path /scene/f;"
        " uwsgi_temp_path /scene/u; scgi_temp_path /scene/s; keepalive_requests 1000000; server { listen 8443 ssl;"
        " ssl_certificate /scene/cert.pem; ssl_certificate_key /scene/key.pem; location / { return 200 hello; } } }\n"
    )
    scene.start("nginx", "-c", "/scene/nginx.conf")
    scene.wait_port(8443)
    context = ssl.create_default_context(cafile="/scene/cert.pem")
    context.check_hostname = False
    links = {}

    def ask() -> None:
        link = links.setdefault(threading.get_ident(), http.client.HTTPSConnection("127.0.0.1", 8443, context=context))
        link.request("GET", "/")
        link.getresponse().read()
        if scene.is_bad:
            link.close()
        time.sleep(0.01)

    scene.fork("client", ask, count=4)
    with scene.recording():
        time.sleep(1)
