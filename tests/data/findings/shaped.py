"""Sends 20 datagrams each 10 ms to a host behind the interface `left`."""

import socket
import time

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(250):
    for _ in range(20):
        sender.sendto(b"x" * 1000, ("10.9.0.2", 9))
    time.sleep(0.01)
