"""One end of a pair of links sends frames to the other: `drops.py` a tenth of them of a protocol that nobody receives, `drops.py few` one in 200."""

import socket
import sys
import time

EACH = 200 if "few" in sys.argv else 10
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("left", 0))
count = 0
for _ in range(250):
    for _ in range(60):
        count += 1
        kind = b"\x88\xb5" if count % EACH == 0 else b"\x08\x00"
        sender.send(b"\xff" * 6 + b"\x02\x00\x00\x00\x00\x01" + kind + b"\x00" * 46)
    time.sleep(0.01)
