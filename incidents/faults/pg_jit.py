"""PostgreSQL compiles each small query to machine code before it runs it: the costs that should prevent that are set to 0.

Source: PostgreSQL manual, "When to JIT?": for short queries the added overhead of performing JIT compilation is often higher than the time it can save.
"""

import threading
import time

from programs import Session, postgres

CAUSE = "sessions of postgres compute in LLVM (libLLVM, llvmjit), for each query"
NAMED = r"postgres.*(LLVM|llvm|\bjit)"
BLAMED = r"^(shop|postgres) .*(LLVM|llvm|\bjit)"
MOVED = r"postgres.*(LLVM|llvm|\bjit)"
FELT = True


def play(scene):
    costs = ("jit_above_cost=0", "jit_inline_above_cost=0", "jit_optimize_above_cost=0")
    postgres(scene, *(costs if scene.is_bad else ("jit=off",)))
    sessions = {}

    def buy():
        me = threading.get_ident()
        session = sessions.get(me) or sessions.setdefault(me, Session())
        with scene.clock.asking():
            session.run("SELECT sum(balance), count(note) FROM account WHERE id < 100")
        time.sleep(0.3)

    scene.fork("shop", buy, count=3)
    with scene.recording():
        time.sleep(1)
