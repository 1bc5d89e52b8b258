"""The heap of a Java server is nearly full of live data: it collects garbage most of the time.

Source: "Java Platform, Standard Edition HotSpot Virtual Machine Garbage Collection Tuning Guide": excessive GC time.
"""

import time

from programs import java, web_clients

CAUSE = "java spends its CPU time in garbage collection: the heap is too small"
NAMED = r"java.*(garbage|GC)"
BLAMED = r"^(client|pool|java|HTTP).* (GC|G1|VM)"
MOVED = r"GC|G1|garbage"


def play(scene):
    java(
        scene,
        """
        import com.sun.net.httpserver.*;
        import java.net.*;
        import java.util.*;
        import java.util.concurrent.*;
        public class Main {
          static final List<byte[]> kept = new ArrayList<>();
          static volatile byte[] last;
          public static void main(String[] a) throws Exception {
            for (int i = 0; i < 44000; i++) kept.add(new byte[1000]);
            HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 0);
            server.setExecutor(Executors.newFixedThreadPool(4));
            server.createContext("/", e -> {
              for (int i = 0; i < 400; i++) last = new byte[1000];
              e.sendResponseHeaders(200, 2); e.getResponseBody().write(new byte[2]); e.close();
            });
            server.start();
          }
        }
        """,
        "-Xmx54m" if scene.is_bad else "-Xmx512m",
        "-XX:+UseParallelGC",
        "-XX:-UseGCOverheadLimit",
    )
    web_clients(scene, "http://127.0.0.1:7000/", count=2, pause_s=0.01)
    with scene.recording():
        time.sleep(1)
