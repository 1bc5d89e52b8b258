"""Apache asks the authority's OCSP responder whether its own certificate is valid, for stapling. The responder is dead: handshakes wait for its timeout.

Source: Apache HTTP Server documentation, mod_ssl: SSLUseStapling, SSLStaplingResponderTimeout, SSLStaplingErrorCacheTimeout; RFC 6961.
"""

import ctypes
import socket
import time
from pathlib import Path

CAUSE = "a process of apache2 waits for 127.0.0.1:2560, the OCSP responder, until its time is over; the others wait for that one's mutex"
NAMED = r"apache2.*127\.0\.0\.1:2560"
BLAMED = r"^(browser|apache2) .*2560"
MOVED = r"apache2.*127\.0\.0\.1:2560"
TRUE_ALSO = r"apache2 .*read failed .* ECONNRESET"  # the browsers close without reading the last of what TLS says, which is a reset
FELT = True


def certificates(scene):
    """An authority, a certificate that says where its OCSP responder is, and this one's response."""
    Path("/scene/more").write_text(
        "authorityInfoAccess=OCSP;URI:http://127.0.0.1:2560/\nsubjectAltName=DNS:localhost\n"
    )
    for words in (
        "req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -days 9 -keyout /scene/ca.key -out /scene/ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout /scene/key.pem -out /scene/request.pem",
        "x509 -req -in /scene/request.pem -CA /scene/ca.pem -CAkey /scene/ca.key -set_serial 7 -days 9 -extfile /scene/more -out /scene/cert.pem",
    ):
        scene.run("openssl", *words.split())
    Path("/scene/index.txt").write_text("V\t400101000000Z\t\t07\tunknown\t/CN=localhost\n")
    words = "ocsp -index /scene/index.txt -CA /scene/ca.pem -rsigner /scene/ca.pem -rkey /scene/ca.key -ndays 1"
    words += " -issuer /scene/ca.pem -cert /scene/cert.pem -respout /scene/response.der"
    scene.run("openssl", *words.split())
    Path("/scene/chain.pem").write_text(Path("/scene/cert.pem").read_text() + Path("/scene/ca.pem").read_text())


def play(scene):
    certificates(scene)
    response = Path("/scene/response.der").read_bytes()
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", 2560))
    door.listen(64)

    def respond():
        if scene.is_bad:
            time.sleep(60)
        with door.accept()[0] as link:
            link.recv(4096)
            head = (
                f"HTTP/1.0 200 OK\r\nContent-Type: application/ocsp-response\r\nContent-Length: {len(response)}\r\n\r\n"
            )
            link.sendall(head.encode() + response)

    scene.fork("responder", respond)
    modules = "".join(
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
        for name in ("mpm_prefork", "authz_core", "dir", "mime", "socache_shmcb", "ssl")
    )
    Path("/scene/www").mkdir()
    Path("/scene/www/index.html").write_text("hello" * 200)
    Path("/scene/apache.conf").write_text(
        f"{modules}ServerName localhost\nListen 127.0.0.1:8443\nPidFile /scene/apache.pid\nErrorLog /scene/apache-error.log\n"
        "User www-data\nGroup www-data\nTypesConfig /etc/mime.types\nDocumentRoot /scene/www\n<Directory /scene/www>\nRequire all granted\n</Directory>\n"
        "Mutex posixsem\nStartServers 8\nServerLimit 8\nMaxRequestWorkers 8\nMinSpareServers 1\nMaxSpareServers 8\n"
        "SSLStaplingCache shmcb:/scene/stapling(128000)\n"
        "SSLStaplingResponderTimeout 1\nSSLStaplingErrorCacheTimeout 1\nSSLStaplingReturnResponderErrors off\n"
        "<VirtualHost 127.0.0.1:8443>\nSSLEngine on\nSSLUseStapling on\nSSLCertificateFile /scene/chain.pem\nSSLCertificateKeyFile /scene/key.pem\n</VirtualHost>\n"
    )
    scene.start("apache2", "-f", "/scene/apache.conf", "-D", "FOREGROUND")
    scene.wait_port(8443)

    tls = ctypes.CDLL("libssl.so.3")  # Python's ssl asks for no stapled response
    for function in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
        getattr(tls, function).restype = ctypes.c_void_p
    context = ctypes.c_void_p(tls.SSL_CTX_new(ctypes.c_void_p(tls.TLS_client_method())))

    def browse():
        with scene.clock.asking(), socket.create_connection(("127.0.0.1", 8443)) as link:
            session = ctypes.c_void_p(tls.SSL_new(context))
            tls.SSL_ctrl(
                session, 65, ctypes.c_long(1), None
            )  # SSL_CTRL_SET_TLSEXT_STATUS_REQ_TYPE, TLSEXT_STATUSTYPE_ocsp
            tls.SSL_set_fd(session, link.fileno())
            is_answered = tls.SSL_connect(session) == 1 and tls.SSL_write(session, b"GET / HTTP/1.0\r\n\r\n", 18) == 18
            is_answered = is_answered and tls.SSL_read(session, ctypes.create_string_buffer(4096), 4096) > 0
            tls.SSL_free(session)
            if not is_answered:
                raise OSError("no answer")
        time.sleep(0.1)

    scene.fork("browser", browse, count=4)
    with scene.recording():
        time.sleep(1)
