"""Scripts as cron starts them: each second some look at files, processes and disks, sort what they find, and end."""

import time


def play(scene):
    script = (
        "while :; do find /etc -name '*.conf' | xargs grep -l server | sort | uniq -c | sort -rn | head -n 3;"
        " ps aux | awk '{s += $4} END {print s}'; df -k | tail -n 2; test -e /no/such/flag && rm /no/such/flag; sleep 1; done"
    )
    scene.start("sh", "-c", script)
    scene.start("sh", "-c", "while :; do date; cat /proc/loadavg; sleep 0.3; done")
    with scene.recording():
        time.sleep(1)
