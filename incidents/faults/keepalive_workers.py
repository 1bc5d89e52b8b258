"""Apache's prefork server has a process for each connection, and keeps it for 15 s after an answer: browsers that read hold all of them, others wait.

Source: Apache HTTP Server documentation, KeepAliveTimeout: "The higher the timeout, the more server processes will be kept occupied waiting on
connections with idle clients".
"""

import http.client
import time
from pathlib import Path

CAUSE = "all processes of apache2 wait for the next request of idle connections (keep-alive); other browsers wait until one is free"
NAMED = r"apache2.*(idle|kept|keep-alive|keeps)"
BLAMED = r"^browser .*apache2"
MOVED = r"apache2"
FELT = True


def play(scene):
    modules = "".join(
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
        for name in ("mpm_prefork", "authz_core", "dir", "mime")
    )
    Path("/scene/www").mkdir()
    Path("/scene/www/index.html").write_text("hello" * 200)
    Path("/scene/apache.conf").write_text(
        f"{modules}ServerName localhost\nListen 127.0.0.1:8080\nPidFile /scene/apache.pid\nErrorLog /scene/apache-error.log\n"
        "User www-data\nGroup www-data\nTypesConfig /etc/mime.types\nDocumentRoot /scene/www\n<Directory /scene/www>\nRequire all granted\n</Directory>\n"
        "KeepAlive On\nKeepAliveTimeout 15\nMutex posixsem\nMinSpareServers 1\nMaxSpareServers 24\n"
        "StartServers {0}\nServerLimit {0}\nMaxRequestWorkers {0}\n".format(6 if scene.is_bad else 24)
    )
    scene.start("apache2", "-f", "/scene/apache.conf", "-D", "FOREGROUND")
    scene.wait_port(8080)

    def browse():
        link = http.client.HTTPConnection("127.0.0.1", 8080, timeout=30)
        for _ in range(2):
            with scene.clock.asking():
                link.request("GET", "/index.html")
                link.getresponse().read()
        time.sleep(0.8)  # reads the page
        link.close()

    scene.fork("browser", browse, count=16)
    with scene.recording():
        time.sleep(1)
