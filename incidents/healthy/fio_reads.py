"""fio reads blocks of 16 kB from a file on the disk, past the page cache, 200 times a second."""

import time


def play(scene):
    file = scene.disk() / "file"
    words = ["--name=reads", f"--filename={file}", "--size=64m", "--bs=16k", "--direct=1", "--ioengine=psync"]
    scene.run("fio", *words, "--rw=write")
    scene.start("fio", *words, "--rw=randread", "--rate_iops=200", "--time_based", "--runtime=600")
    with scene.recording():
        time.sleep(1)
