"""A compiler works on one large file: one process that computes, and nothing that waits for it."""

import time


def play(scene):
    body = "".join(
        f"int f{n}(int *a, int k) {{ int s = 0; for (int i = 0; i < k; i++) s += a[i] * {n} + (a[i] >> {n % 7}); return s; }}\n"
        for n in range(4000)
    )
    (scene.folder / "large.c").write_text(body)
    scene.start("sh", "-c", "while gcc -O2 -c -o large.o large.c; do :; done")
    with scene.recording():
        time.sleep(1)
