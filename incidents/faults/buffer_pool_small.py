"""The buffer pool of MariaDB is far smaller than the table that it is asked for: each query reads its page from the disk.

Source: MariaDB's manual, "InnoDB Buffer Pool"; innodb_buffer_pool_size; innodb_flush_method=O_DIRECT, by which the page cache holds nothing.
"""

import random
import shutil
import threading
import time
from pathlib import Path

from programs import MariaSession, mariadb

CAUSE = "mariadbd reads account.ibd from the disk for each query"
NAMED = r"mariadbd.*(pread|disk|loop|\.ibd|/scene/maria/)"
BLAMED = r"^(shop|mariadbd) .*(pread|disk|loop|\.ibd)"
MOVED = r"mariadbd.*(pread|disk|loop|\.ibd)"
TRUE_ALSO = (
    r"waits_above_disk.*ib_logfile0"  # the disk is held back in the healthy one too, while what was inserted is written
)
FELT = True


def play(scene):
    Path("/scene/maria").mkdir()
    device = scene.file_system("/scene/maria", "512M")
    shutil.rmtree("/scene/maria/lost+found")
    mariadb(scene, "--innodb-flush-method=O_DIRECT", f"--innodb-buffer-pool-size={'8M' if scene.is_bad else '200M'}")
    setup = MariaSession()
    setup.run("CREATE TABLE account (id int PRIMARY KEY, note varchar(600)) ENGINE=InnoDB")
    setup.run("INSERT INTO account SELECT seq, repeat('x', 500) FROM seq_1_to_100000")
    setup.run("SELECT sum(length(note)) FROM account")
    sessions = {}

    def look():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, MariaSession())
        with scene.clock.asking():
            session.run(f"SELECT note FROM account WHERE id = {random.randint(1, 100000)}")
        time.sleep(0.02)

    scene.throttle(device, 150)
    scene.fork("shop", look, count=4)
    with scene.recording():
        time.sleep(1)
