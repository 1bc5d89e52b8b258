import ctypes
import os
import time

ctypes.CDLL(None).prctl(15, b"ledger", 0, 0, 0)
f = os.open("/mnt/volume/ledger", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
end = time.monotonic() + 2
while time.monotonic() < end:
    os.write(f, b"x" * 4096)
    os.fdatasync(f)
    time.sleep(0.005)
