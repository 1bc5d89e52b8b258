"""A queue of Java wakes all of its 64 consumers for each item: one gets it, the others look and wait again.

Source: Bloch, "Effective Java", item 81: notify or notifyAll; "Java Concurrency in Practice", 14.2.4.
"""

import time

from programs import java

CAUSE = "each item wakes all 64 consumers of java's queue"
NAMED = r"java.*(herd|woken|woke|wakes|threads are|lock)|consumer.*(woken|woke|wakes|lock)"
BLAMED = r"^consumer"
MOVED = r"consumer|java"


def play(scene):
    java(
        scene,
        f"""
        import java.net.*;
        import java.util.*;
        import java.util.concurrent.locks.*;
        public class Main {{
          static final ReentrantLock lock = new ReentrantLock();
          static final Condition filled = lock.newCondition();
          static final ArrayDeque<String> items = new ArrayDeque<>();
          public static void main(String[] a) throws Exception {{
            for (int n = 0; n < 64; n++) {{
              Thread t = new Thread(() -> {{
                while (true) {{
                  lock.lock();
                  try {{ while (items.isEmpty()) filled.await(); items.poll(); }}
                  catch (InterruptedException x) {{ return; }}
                  finally {{ lock.unlock(); }}
                }}
              }}, "consumer-" + n);
              t.start();
            }}
            ServerSocket door = new ServerSocket(7000);
            while (true) {{
              lock.lock();
              try {{ items.add("item"); filled.{"signalAll" if scene.is_bad else "signal"}(); }} finally {{ lock.unlock(); }}
              Thread.sleep(2);
            }}
          }}
        }}
        """,
    )
    with scene.recording():
        time.sleep(1)
