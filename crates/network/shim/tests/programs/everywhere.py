"""A server that names no address, and tells each client at which address it was reached. One of "one" names the stack's."""

import os
import select
import socket
import sys

port, how = int(sys.argv[1]), sys.argv[2]
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if how == "early":
    epoll = select.epoll()
    epoll.register(server, select.EPOLLIN)
server.bind(("10.1.0.2" if how == "one" else "", port))
server.listen()
if how == "fork":
    os.fork()


def readable():
    if how == "poll":
        poll = select.poll()
        poll.register(server, select.POLLIN)
        return poll.poll()
    if how == "select":
        return select.select([server], [], [])
    if how in ("epoll", "early"):
        return epoll.poll()
    return None


if how == "epoll":
    epoll = select.epoll()
    epoll.register(server, select.EPOLLIN)
while True:
    readable()
    client, _ = server.accept()
    text = "one" if how == "one" else client.getsockname()[0]
    client.sendall(text.encode())
    client.close()
