"""A Java server starts a thread for each request, and none of them ends.

Source: proc(5), Threads of /proc/PID/status.
"""

import time

from programs import java, web_clients

SECONDS = 12
CAUSE = "java leaks threads"
NAMED = r"thread_leak.*java"
BLAMED = ""
MOVED = r"thread_leak|threads"


def play(scene):
    java(
        scene,
        f"""
        import com.sun.net.httpserver.*;
        import java.net.*;
        public class Main {{
          public static void main(String[] a) throws Exception {{
            HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 0);
            server.createContext("/", e -> {{
              if ({"true" if scene.is_bad else "false"}) new Thread(() -> {{ try {{ Thread.sleep(1000000); }} catch (InterruptedException x) {{ }} }}).start();
              e.sendResponseHeaders(200, 2); e.getResponseBody().write(new byte[2]); e.close();
            }});
            server.start();
          }}
        }}
        """,
    )
    web_clients(scene, "http://127.0.0.1:7000/", count=2, pause_s=0.05)
    with scene.recording():
        time.sleep(1)
