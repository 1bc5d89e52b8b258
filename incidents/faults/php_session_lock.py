"""A page of PHP keeps its session open while it asks something slow: PHP locks the session's file, so the pages of one visitor come one by one.

Source: PHP's manual, session_write_close: "session data is locked to prevent concurrent writes only one script may operate on a session at any time".
"""

import time

from programs import kept_clients, php

CAUSE = "php-fpm waits for the lock of the session's file sess_visitor1, which another of its processes holds while it sleeps"
NAMED = r"php.*sess_visitor1"
BLAMED = r"^(client|nginx|php\S*) .*sess_visitor1"
MOVED = r"sess_visitor1"
TRUE_ALSO = r"a sleep of"  # 60 ms of each page
FELT = True


def play(scene):
    php(
        scene,
        f"""<?php
        session_id('visitor1');
        session_start();
        {"" if scene.is_bad else "session_write_close();"}
        usleep(60000);
        echo 'hello';
        """,
        children=6,
    )
    kept_clients(scene, 8080, "/page.php", count=4, pause_s=0.05)
    with scene.recording():
        time.sleep(1)
