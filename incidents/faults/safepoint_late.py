"""A thread of Java computes in a loop that does not look whether it should stop: all others, stopped for a collection, wait until it has ended.

Source: HotSpot's glossary, "Safepoint"; JDK-5014723, "Long running loops in optimized code cause significant time to reach safepoint"; the flag
UseCountedLoopSafepoints is what the healthy one has.
"""

import time

from programs import java, kept_clients

CAUSE = "the threads of java wait until its thread report, which computes, has reached a safepoint"
NAMED = r"java.*\breport\b"
BLAMED = r"^(client|java|worker) .*report"
MOVED = r"java.*\breport\b|(client|worker) waits .*report"
FELT = True


def play(scene):
    java(
        scene,
        """
        import com.sun.net.httpserver.*;
        import java.net.*;
        import java.util.concurrent.*;
        public class Main {
          static volatile int total;
          static byte[][] kept = new byte[64][];
          static int add(int count) {
            int sum = 1;
            for (int i = 0; i < count; i++) sum = sum * 31 + (i ^ sum);
            return sum;
          }
          public static void main(String[] a) throws Exception {
            for (int i = 0; i < 20000; i++) total = add(1000);
            HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 7000), 64);
            server.setExecutor(Executors.newFixedThreadPool(8, r -> new Thread(r, "worker")));
            server.createContext("/", e -> {
              for (int i = 0; i < 100; i++) kept[i % 64] = new byte[4000];
              e.sendResponseHeaders(200, 2); e.getResponseBody().write(new byte[2]); e.close();
            });
            server.start();
            new Thread(() -> {
              while (true) {
                total = add(200_000_000);
                try { Thread.sleep(150); } catch (InterruptedException x) { }
              }
            }, "report").start();
          }
        }
        """,
        "-XX:+UseSerialGC",
        "-Xmn4m",
        *([] if scene.is_bad else ["-XX:+UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=1000"]),
    )
    kept_clients(scene, 7000, count=4, pause_s=0.01)
    with scene.recording():
        time.sleep(1)
