"""A server whose stack ends. It is told so once, and sleeps from then on."""

import errno
import select
import socket
import struct
import sys
import time

how = sys.argv[1]
server = socket.socket(type=socket.SOCK_DGRAM if how == "udp" else socket.SOCK_STREAM)
server.bind(("10.1.0.2", 0))
if how != "udp":
    server.listen()
if how != "accept":
    server.setblocking(False)
poll = select.epoll() if how == "epoll" else select.poll()
if how != "accept":
    poll.register(server, select.POLLIN)
print("ready", flush=True)


def attempt(milliseconds):
    if how == "accept":
        value = struct.pack("ll", milliseconds // 1000, 0)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
    elif not poll.poll(milliseconds / 1000 if how == "epoll" else milliseconds):
        return "quiet"
    try:
        server.recv(9) if how == "udp" else server.accept()
    except BlockingIOError:
        return "quiet" if how == "accept" else "readable for nothing"
    except OSError as error:
        return errno.errorcode[error.errno]


print(attempt(20000), flush=True)
before = time.process_time()
after = attempt(1000)
spent = time.process_time() - before
print(after if spent < 0.3 else f"{spent} s of a processor", flush=True)
