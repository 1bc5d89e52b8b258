"""PHP compiles 150 files of classes in each request: its cache of compiled scripts is off.

Source: PHP's manual, "OPcache": it "improves PHP performance by storing precompiled script bytecode in shared memory, thereby removing the need
for PHP to load and parse scripts on each request".
"""

import time
from pathlib import Path

from programs import kept_clients, php

CAUSE = "php-fpm compiles its scripts in each request (zendparse, lex_scan, zend_compile): opcache is off"
NAMED = r"php-fpm.*(compil|lex_scan|zendparse|zend_compile|opcache)"
BLAMED = r"php-fpm.*(compil|lex_scan|zendparse|zend_compile)"
MOVED = r"php-fpm.*(compil|lex_scan|zendparse|zend_compile)|(compil|lex_scan|zendparse|zend_compile).*php-fpm"
FELT = True


def play(scene):
    for number in range(150):
        methods = "".join(
            f"  public function task{each}($a, $b) {{ if ($a > {each}) {{ return $this->name . strtoupper($b); }} return [$a, $b, '{each}']; }}\n"
            for each in range(20)
        )
        Path(f"/scene/part{number}.php").write_text(
            f"<?php\nclass Part{number} {{\n  public $name = 'part {number}';\n{methods}}}\n"
        )
    php(
        scene,
        """<?php
        for ($number = 0; $number < 150; $number++) {
            require_once "/scene/part$number.php";
        }
        echo (new Part7())->task3(5, "hello");
        """,
        f"opcache.enable={int(not scene.is_bad)}",
        children=2,
    )
    kept_clients(scene, 8080, "/page.php", count=3, pause_s=0.05)
    with scene.recording():
        time.sleep(1)
