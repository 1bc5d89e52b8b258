"""Sends datagrams of 20,000 bytes to the host behind the link for 7 s: 13 Mbit/s, of which a tbf lets 9.5 pass, or five a second."""

import socket
import sys
import time

PAUSE_S = 0.2 if sys.argv[1:] else 0.012

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begun = time.monotonic()
for number in range(int(7 / PAUSE_S)):
    time.sleep(max(0, begun + number * PAUSE_S - time.monotonic()))
    sender.sendto(b"x" * 20_000, ("10.0.2.2", 9))
