"""All requests of a Java server go through one synchronized block, in which one of them sleeps.

Source: Brendan Gregg, "Systems Performance", 2nd edition, 5.5.5 and 13: off-CPU time in locks.
"""

import time

from programs import java, web_clients

CAUSE = "threads of java wait for one monitor, whose holder sleeps"
NAMED = r"java.*(lock|monitor)"
BLAMED = r"^(client|pool|HTTP|java|Thread).* (sleep|timeout) pool-1-thread-\d+ futex"
MOVED = r"(pool|HTTP|java|Thread).* waits"


def play(scene):
    java(
        scene,
        f"""
        import com.sun.net.httpserver.*;
        import java.net.*;
        import java.util.concurrent.*;
        public class Main {{
          static final Object lock = new Object();
          public static void main(String[] a) throws Exception {{
            HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 0);
            server.setExecutor(Executors.newFixedThreadPool(8));
            server.createContext("/", e -> {{
              synchronized (lock) {{ try {{ Thread.sleep({40 if scene.is_bad else 0}); }} catch (InterruptedException x) {{ }} }}
              e.sendResponseHeaders(200, 2); e.getResponseBody().write(new byte[2]); e.close();
            }});
            server.start();
          }}
        }}
        """,
    )
    web_clients(scene, "http://127.0.0.1:7000/", count=8)
    with scene.recording():
        time.sleep(1)
