"""Two requests of a Java server take two locks in opposite order: both wait for ever, and so does who needs one of the locks.

Source: the Java language specification, 17.1: a program can deadlock; jstack(1).
"""

import time

from programs import java, kept_clients, web_clients

CAUSE = "threads of java wait for locks that never become free"
NAMED = r"java.*(lock|futex|sleep)"
BLAMED = ""
MOVED = r"java|pool"


def play(scene):
    java(
        scene,
        f"""
        import com.sun.net.httpserver.*;
        import java.net.*;
        import java.util.concurrent.*;
        public class Main {{
          static final Object first = new Object(), second = new Object();
          static void both(Object one, Object two) {{
            synchronized (one) {{ try {{ Thread.sleep({20 if scene.is_bad else 0}); }} catch (InterruptedException x) {{ }} synchronized (two) {{ }} }}
          }}
          public static void main(String[] a) throws Exception {{
            HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 0);
            server.setExecutor(Executors.newFixedThreadPool(8));
            server.createContext("/", e -> {{
              if (e.getRequestURI().getPath().equals("/a")) both(first, second);
              if (e.getRequestURI().getPath().equals("/b")) both({"second, first" if scene.is_bad else "first, second"});
              e.sendResponseHeaders(200, 2); e.getResponseBody().write(new byte[2]); e.close();
            }});
            server.start();
          }}
        }}
        """,
    )
    web_clients(scene, "http://127.0.0.1:7000/", count=2)
    with scene.recording():
        time.sleep(1)
        kept_clients(scene, 7000, "/a", count=2, name="left")
        kept_clients(scene, 7000, "/b", count=2, name="right")
