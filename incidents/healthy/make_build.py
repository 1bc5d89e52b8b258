"""make -j2 compiles a hundred small files of C, links them, and begins again: a build uses the CPUs that it was given."""

import time

# Two jobs keep both CPUs busy, as asked: make, the interrupts and the recorder make them wait.
TRUE_ALSO = r"cpu_saturation"


def play(scene):
    for number in range(100):
        code = f'#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint part{number}(int n) {{ return printf("%d", n); }}\n'
        (scene.folder / f"part{number}.c").write_text(code)
    (scene.folder / "main.c").write_text("int main() { return 0; }\n")
    objects = " ".join(f"part{number}.o" for number in range(100))
    (scene.folder / "Makefile").write_text(f"all: main.o {objects}\n\tgcc -o all $^\nclean:\n\trm -f *.o all\n")
    scene.start("sh", "-c", "while make -s -j2 all; do make -s clean; done")
    with scene.recording():
        time.sleep(1)
