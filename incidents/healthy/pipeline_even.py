"""A log goes through a filter and gzip, line by line as it comes: no program of the pipeline is busy all the time."""

import time


def play(scene):
    code = "import sys, time\nwhile True:\n  sys.stdout.write('one more line of the log\\n' * 200); sys.stdout.flush(); time.sleep(0.01)"
    (scene.folder / "logger.py").write_text(code)
    scene.start("sh", "-c", "python3 /scene/logger.py | sed -u s/one/another/ | gzip -6 | cat >/dev/null")
    with scene.recording():
        time.sleep(1)
