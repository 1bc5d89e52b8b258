"""Plays a host on the other side of a network: a TCP that delays its acknowledgements by 200 ms, as Windows' and BSD's do.

usage: peer200.py COMMAND…: runs it, with a service at 10.9.0.2:7777 that answers each 120 bytes with 200 bytes.
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time

DELAY_S = 0.2
REQUEST, ANSWER = 120, b"x" * 200
FIN, SYN, PSH, ACK = 1, 2, 8, 16


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2 + len(data) % 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"far", 0x1001))  # TUNSETIFF: IFF_TUN | IFF_NO_PI
for line in ("addr add 10.9.0.1/24 dev far", "link set far up"):
    subprocess.run(["ip", *line.split()], check=True)
client = subprocess.Popen(sys.argv[1:])
ours = theirs = taken = 0
due = None
port = 0


def send(flags, data=b""):
    global ours, due
    tcp = struct.pack(">HHIIBBHHH", 7777, port, ours, theirs, 5 << 4, flags, 60000, 0, 0)
    ends = bytes([10, 9, 0, 2, 10, 9, 0, 1])
    total = checksum(ends + struct.pack(">HH", 6, len(tcp) + len(data)) + tcp + data)
    tcp = tcp[:16] + struct.pack(">H", total) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0) + ends
    os.write(tun, ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp + data)
    ours = (ours + len(data) + (flags & SYN > 0) + (flags & FIN > 0)) & 0xFFFFFFFF
    due = None


while client.poll() is None:
    ready, _, _ = select.select([tun], [], [], 0.05 if due is None else max(0, due - time.monotonic()))
    if not ready:
        if due is not None:
            send(ACK)
        continue
    packet = os.read(tun, 2048)
    if packet[0] != 0x45 or packet[9] != 6:
        continue
    port, _, sequence, _, offset, flags = struct.unpack(">HHIIBB", packet[20:34])
    data = packet[20 + 4 * (offset >> 4) : struct.unpack(">H", packet[2:4])[0]]
    if flags & SYN:
        theirs = sequence + 1
        send(SYN | ACK)
    elif sequence == theirs and (data or flags & FIN):
        theirs = (theirs + len(data) + (flags & FIN)) & 0xFFFFFFFF
        taken += len(data)
        if flags & FIN:
            send(FIN | ACK)
        elif taken >= REQUEST:
            taken -= REQUEST
            send(PSH | ACK, ANSWER)
        else:
            due = due or time.monotonic() + DELAY_S
    elif data:
        send(ACK)
