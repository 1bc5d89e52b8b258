"""A page of PHP hands a mail to a queue of messages (System V), which the program that sends them empties slowly: the queue is full, and each page waits for room.

Source: msgop(2): msgsnd "blocks until space becomes available in the queue"; PHP's manual, msg_send; msgctl(2), MSGMNB.
"""

import ctypes
import time

from programs import kept_clients, php

CAUSE = "php-fpm waits in msgsnd for room in the message queue, which mailer empties slowly"
NAMED = r"php-fpm.*\bmailer\b"
BLAMED = r"^(client|nginx|php-fpm\S*) .*\bmailer\b"
MOVED = NAMED
FELT = True
KEY = 4711


def play(scene):
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.msgget(KEY, 0o1666)
    letter = ctypes.create_string_buffer(8192)

    def send():
        libc.msgrcv(queue, letter, ctypes.c_size_t(8000), ctypes.c_long(0), 0)
        time.sleep(0.05 if scene.is_bad else 0.001)

    scene.fork("mailer", send)
    php(
        scene,
        f"""\
        <?php
        $queue = msg_get_queue({KEY});
        msg_send($queue, 1, str_repeat("Thank you. ", 90), false, true, $error);
        echo "hello";
        """,
        children=4,
    )
    kept_clients(scene, 8080, "/page.php", count=4, pause_s=0.03)
    with scene.recording():
        time.sleep(1)
