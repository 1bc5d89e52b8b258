"""The tasks of a pool of Java wait for tasks that they gave to the same pool: when all four threads wait, nobody is left for those.

Source: "Java Concurrency in Practice", 8.1.1: thread starvation deadlock.
"""

import time

from programs import java, web_clients

CAUSE = "all four threads of java's pool wait for tasks that only they could run, until their time is over"
NAMED = r"java.*pool|pool.*java"
BLAMED = r"^(pool|client) .*(timeout|sleep).*pool"
MOVED = r"java|pool"


def play(scene):
    java(
        scene,
        f"""
        import com.sun.net.httpserver.HttpServer;
        import java.net.*;
        import java.util.concurrent.*;
        public class Main {{
            public static void main(String[] args) throws Exception {{
                ExecutorService pool = Executors.newFixedThreadPool(4);
                ExecutorService parts = {"pool" if scene.is_bad else "Executors.newFixedThreadPool(4)"};
                HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 100);
                server.createContext("/", exchange -> {{
                    Future<byte[]> part = parts.submit(() -> "hello".getBytes());
                    byte[] body = "none".getBytes();
                    try {{ body = part.get(500, TimeUnit.MILLISECONDS); }} catch (Exception late) {{ }}
                    exchange.sendResponseHeaders(200, body.length);
                    exchange.getResponseBody().write(body);
                    exchange.close();
                }});
                server.setExecutor(pool);
                server.start();
            }}
        }}
        """,
    )
    web_clients(scene, "http://127.0.0.1:7000/", count=12)
    with scene.recording():
        time.sleep(1)
