"""A Java server with a pool of eight threads: each answer makes some garbage, the collector takes it away."""

import time

from programs import java, kept_clients


def play(scene):
    java(
        scene,
        """
        import com.sun.net.httpserver.*;
        import java.net.*;
        import java.util.*;
        import java.util.concurrent.*;
        public class Main {
          static final Map<Integer, byte[]> cache = new ConcurrentHashMap<>();
          public static void main(String[] a) throws Exception {
            HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 0);
            server.setExecutor(Executors.newFixedThreadPool(8));
            server.createContext("/", e -> {
              List<String> words = new ArrayList<>();
              for (int i = 0; i < 2000; i++) words.add("word" + i);
              cache.put(ThreadLocalRandom.current().nextInt(2000), new byte[4000]);
              byte[] body = ("words: " + words.size()).getBytes();
              e.sendResponseHeaders(200, body.length); e.getResponseBody().write(body); e.close();
            });
            server.start();
          }
        }
        """,
        "-Xmx64m",
    )
    kept_clients(scene, 7000, count=6, pause_s=0.015)
    with scene.recording():
        time.sleep(1)
