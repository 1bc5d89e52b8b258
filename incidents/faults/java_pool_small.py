"""A Java service has a pool of two threads, and each request waits 50 ms for another service: requests queue up in the executor.

Source: java.util.concurrent.ThreadPoolExecutor: "queuing"; "Java Concurrency in Practice", 8.2: sizing thread pools.
"""

import time

from programs import gunicorn, java, web_clients

CAUSE = "the two threads of java's pool wait for 127.0.0.1:8000; other requests wait for a thread"
NAMED = r"java.*(8000|gunicorn)"
BLAMED = r"^(java|pool-1-thread-\d) .*(8000|gunicorn)"
MOVED = r"(java|client) waits .*(gunicorn|8000|java)"
TRUE_ALSO = r"cpu_saturation"  # while Java compiles, it and its clients want more than two CPUs


def play(scene):
    gunicorn(
        scene,
        f"""
        import time
        def app(environ, start_response):
            time.sleep({0.05 if scene.is_bad else 0.001})
            start_response("200 OK", [("Content-Length", "5")])
            return [b"hello"]
        """,
        "--workers=1",
        "--threads=16",
    )
    java(
        scene,
        """
        import com.sun.net.httpserver.HttpServer;
        import java.net.*;
        import java.util.concurrent.*;
        public class Main {
            public static void main(String[] args) throws Exception {
                HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 100);
                server.createContext("/", exchange -> {
                    new URL("http://127.0.0.1:8000/").openStream().readAllBytes();
                    byte[] body = "hello".getBytes();
                    exchange.sendResponseHeaders(200, body.length);
                    exchange.getResponseBody().write(body);
                    exchange.close();
                });
                server.setExecutor(Executors.newFixedThreadPool(2));
                server.start();
            }
        }
        """,
    )
    web_clients(scene, "http://127.0.0.1:7000/", count=8)
    with scene.recording():
        time.sleep(1)
