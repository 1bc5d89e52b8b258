"""Broadcasts: to 400 sockets the CPU that receives is slower than `broadcast.py` sends, to the two of `broadcast.py few` it is not."""

import os
import socket
import sys
import time

os.sched_setaffinity(0, {1})
receivers = []
for _ in range(2 if "few" in sys.argv else 400):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.bind(("", 8125))
    receivers.append(receiver)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for _ in range(12):
    for _ in range(3000):
        sender.sendto(b"x", ("127.255.255.255", 8125))
    time.sleep(0.2)
