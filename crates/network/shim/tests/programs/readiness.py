"""Waiting for sockets of the stack, against a server of the kernel's that echoes, and calls that python has no name for."""
import ctypes, errno, os, select, socket, sys, time

address = sys.argv[1], int(sys.argv[2])
c = ctypes.CDLL(None, use_errno=True)

class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("parts", ctypes.c_long)]

class Vector(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("len", ctypes.c_size_t)]

class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_len", ctypes.c_uint), ("vectors", ctypes.POINTER(Vector)),
                ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("_", ctypes.c_int), ("len", ctypes.c_uint)]
assert ctypes.sizeof(Message) == 64

def messages(*rooms):
    made = (Message * len(rooms))()
    for message, room in zip(made, rooms):
        message.vectors = ctypes.pointer(Vector(ctypes.addressof(room), len(room)))
        message.count = 1
    return made

# A socket is in an epoll before it connects.
s = socket.socket()
s.setblocking(False)
epoll = select.epoll()
epoll.register(s, select.EPOLLIN | select.EPOLLOUT)
epoll.modify(s, select.EPOLLOUT)
assert s.connect_ex(address) == errno.EINPROGRESS
assert epoll.poll(5) == [(s.fileno(), select.EPOLLOUT)]
epoll.modify(s, select.EPOLLIN)
s.send(b"early")
assert epoll.poll(5) == [(s.fileno(), select.EPOLLIN)]
assert s.recv(9) == b"early"
assert epoll.poll(0) == []
epoll.unregister(s)
epoll.close()
# One that left the epoll is not put back.
other = socket.socket()
epoll = select.epoll()
epoll.register(other, select.EPOLLOUT)
epoll.unregister(other)
other.connect(address)
assert epoll.poll(0) == []
# A number that is used again is not that of before.
late = socket.socket()
number = late.fileno()
epoll.register(late, select.EPOLLOUT)
late.close()
late = socket.socket()
assert late.fileno() == number
late.connect(address)
assert epoll.poll(0) == []
late.close()

# With room for one event, each that is ready has its turn, the kernel's too.
r, w = os.pipe()
ready = [socket.create_connection(address) for _ in range(5)]
for each in ready:
    epoll.register(each, select.EPOLLOUT)
epoll.register(w, select.EPOLLOUT)
numbers = {each.fileno() for each in ready} | {w}
assert {epoll.poll(0, 1)[0][0] for _ in range(10)} == numbers
assert {fd for _ in range(4) for fd, _ in epoll.poll(0, 3)} == numbers
# Room that the kernel does not need is for the others.
epoll.unregister(w)
assert all(len(epoll.poll(0, 5)) >= 3 for _ in range(4))

# What time is left.
bits = (ctypes.c_ulong * 16)()
def chosen(seconds):
    number = s.fileno()
    bits[number // 64] = 1 << number % 64
    left = Time(seconds, 30_000)
    count = c.select(number + 1, bits, None, None, ctypes.byref(left))
    return count, left.seconds + left.parts / 1e6
assert chosen(0) == (0, 0)
s.send(b"x")
count, left = chosen(5)
assert count == 1 and 4 < left < 5.03, (count, left)
assert s.recv(1) == b"x"

# A wait in nanoseconds.
events = ctypes.create_string_buffer(12 * 8)
for each in ready:
    epoll.modify(each, select.EPOLLIN)
start = time.monotonic()
assert c.epoll_pwait2(epoll.fileno(), events, 8, ctypes.byref(Time(0, 50_000_000)), None) == 0
assert time.monotonic() - start > 0.045
ready[0].send(b"y")
assert c.epoll_pwait2(epoll.fileno(), events, 8, None, None) == 1
assert ready[0].recv(1) == b"y"

# Several messages in one call.
s.setblocking(True)
rooms = [ctypes.create_string_buffer(b"one", 3), ctypes.create_string_buffer(b"three", 5)]
sent = messages(*rooms)
assert c.sendmmsg(s.fileno(), sent, 2, 0) == 2 and [m.len for m in sent] == [3, 5]
while len(s.recv(8, socket.MSG_PEEK)) < 8:
    pass
rooms = [ctypes.create_string_buffer(3), ctypes.create_string_buffer(5), ctypes.create_string_buffer(1)]
got = messages(*rooms)
assert c.recvmmsg(s.fileno(), got, 3, 0x10000, None) == 2  # MSG_WAITFORONE
assert [room.raw for room in rooms[:2]] == [b"one", b"three"] and [m.len for m in got] == [3, 5, 0]

# The same call with a check of the room.
s.send(b"check")
room, name = ctypes.create_string_buffer(5), ctypes.create_string_buffer(16)
length = ctypes.c_uint(16)
got = c.__recvfrom_chk(s.fileno(), room, 5, 5, socket.MSG_WAITALL, name, ctypes.byref(length))
assert got == 5 and room.raw == b"check"
