"""A Java program with scheduled tasks, a pool of 40 threads that mostly wait, and a queue between producers and consumers."""

import time

from programs import java


def play(scene):
    java(
        scene,
        """
        import java.net.*;
        import java.util.concurrent.*;
        public class Main {
          public static void main(String[] a) throws Exception {
            ScheduledExecutorService timers = Executors.newScheduledThreadPool(4);
            ExecutorService pool = Executors.newFixedThreadPool(40);
            BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(100);
            for (int i = 0; i < 40; i++) pool.submit(() -> {
              while (true) { int n = queue.take(); double x = 0; for (int k = 0; k < n * 1000; k++) x += Math.sqrt(k); if (x < 0) return null; }
            });
            for (int period : new int[] {10, 50, 100, 1000})
              timers.scheduleAtFixedRate(() -> queue.offer(period), period, period, TimeUnit.MILLISECONDS);
            new ServerSocket(7000).accept();
            Thread.currentThread().join();
          }
        }
        """,
        "-Xmx64m",
    )
    with scene.recording():
        time.sleep(1)
