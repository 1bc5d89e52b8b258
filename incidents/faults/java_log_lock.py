"""All threads of a Java server log under one lock to a pipe whose reader is slow: each request waits for the lock, and its holder for the reader.

Source: Log4j's manual, "Asynchronous Loggers": synchronous appenders block; pipe(7), "Pipe capacity".
"""

import textwrap
import time
from pathlib import Path

from programs import web_clients

CAUSE = "requests of java wait for the lock of its log, whose holder waits until logger reads the pipe"
NAMED = r"java.*(pipe|logger)"
BLAMED = r"^(client|java|pool\S*) .*logger|^(client|java|pool\S*) .*write.*pipe"
MOVED = r"(java|pool).*(pipe|logger)"
FELT = True


def play(scene):
    Path("/scene/Main.java").write_text(
        textwrap.dedent(
            """
            import com.sun.net.httpserver.*;
            import java.net.*;
            import java.util.concurrent.*;
            public class Main {
              static final Object log = new Object();
              static final byte[] line = "x".repeat(4000).getBytes();
              public static void main(String[] a) throws Exception {
                HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 0);
                server.setExecutor(Executors.newFixedThreadPool(8));
                server.createContext("/", e -> {
                  synchronized (log) { System.out.write(line, 0, line.length); System.out.flush(); }
                  e.sendResponseHeaders(200, 2); e.getResponseBody().write(new byte[2]); e.close();
                });
                server.start();
              }
            }
            """
        )
    )
    Path("/scene/logger.py").write_text(
        textwrap.dedent(
            f"""
            import ctypes, os, time
            ctypes.CDLL(None).prctl(15, b"logger", 0, 0, 0)
            while os.read(0, 4096):
                time.sleep({0.03 if scene.is_bad else 0})
            """
        )
    )
    scene.run("javac", "-d", "/scene", "/scene/Main.java")
    scene.start("sh", "-c", "java -cp /scene Main | python3 /scene/logger.py")
    scene.wait_port(7000)
    web_clients(scene, "http://127.0.0.1:7000/", count=8, pause_s=0.02)
    with scene.recording():
        time.sleep(1)
