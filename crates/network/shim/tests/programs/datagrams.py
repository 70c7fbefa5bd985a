"""Sockets of UDP in the stack. At the other end are sockets of the kernel's."""
import array, ctypes, errno, fcntl, os, select, socket, struct, sys, termios, time

outside, inside = sys.argv[1], "10.1.0.2"
c = ctypes.CDLL(None, use_errno=True)

def udp(*options):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in options:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    return s

kernel = udp()
kernel.bind((outside, 0))
kernel.settimeout(20)
peer = kernel.getsockname()

def send_kernel(data, port):
    """A datagram of the kernel's to the stack: a system call that no library sees."""
    name = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(inside))
    assert c.syscall(44, kernel.fileno(), data, len(data), 0, name, len(name)) == len(data)

# A socket that sends goes to the stack by the address, and hears the answer.
s = udp()
s.settimeout(20)
assert s.sendto(b"question", peer) == 8
data, back = kernel.recvfrom(100)
assert data == b"question" and back[0] == inside
port = back[1]
assert s.getsockname()[1] == port
send_kernel(b"answer", port)
assert s.recvfrom(100) == (b"answer", peer)

# Each call receives one datagram: none is torn or joined, and an empty one is one.
for data in [b"one", b"", b"x" * 1000]:
    send_kernel(data, port)
poll = select.poll()
poll.register(s, select.POLLIN)
assert poll.poll(5000) == [(s.fileno(), select.POLLIN)]
assert s.recv(2, socket.MSG_PEEK) == b"on"
assert s.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC) == 3
assert s.recv(2) == b"on"
assert s.recv(100) == b""
count = array.array("i", [0])
while count[0] == 0:
    fcntl.ioctl(s, termios.FIONREAD, count)
assert count[0] == 1000
room = bytearray(10)
got, _, flags, address = s.recvmsg_into([room])
assert (got, address) == (10, peer) and flags & socket.MSG_TRUNC and room == b"x" * 10
s.setblocking(False)
try:
    s.recv(1)
    assert False
except BlockingIOError:
    pass
assert poll.poll(20) == []
s.settimeout(0.05)
try:
    s.recv(1)
    assert False
except TimeoutError:
    pass
s.settimeout(20)
s.sendmsg([b"ab", b"cd"], [], 0, peer)
assert kernel.recv(100) == b"abcd"
try:
    s.sendto(bytes(70_000), peer)
    assert False
except OSError as error:
    assert error.errno == errno.EMSGSIZE

# Datagrams that the kernel sends as one are several.
kernel.setsockopt(17, 103, 100)  # UDP_SEGMENT
parts = [bytes([n]) * 100 for n in range(20)] + [b"last"]
send_kernel(b"".join(parts), port)
kernel.setsockopt(17, 103, 0)
assert [s.recv(1000) for _ in parts] == parts

# Connected: other peers are not heard, and the address is known.
s.connect(peer)
assert s.getpeername() == peer and s.getsockname() == (inside, port)
stranger = udp()
stranger.bind((outside, 0))
kernel, old = stranger, kernel
send_kernel(b"stranger", port)
kernel = old
send_kernel(b"friend", port)
assert s.recv(100) == b"friend"
assert s.send(b"sent") == 4 and kernel.recv(100) == b"sent"
os.write(s.fileno(), b"written")
assert kernel.recv(100) == b"written"

# A server at the stack's address, two at one port, and one that a child has.
server = udp()
server.bind((inside, 5300))
server.settimeout(20)
try:
    udp().bind((inside, 5300))
    assert False
except OSError as error:
    assert error.errno == errno.EADDRINUSE
send_kernel(b"to the server", 5300)
data, address = server.recvfrom(100)
assert (data, address) == (b"to the server", peer)
server.sendto(b"from the server", address)
assert kernel.recvfrom(100) == (b"from the server", (inside, 5300))
send_kernel(b"before the fork", 5300)
time.sleep(0.05)
child = os.fork()
if child == 0:
    server.sendto(server.recv(100) + b", in the child", peer)
    os._exit(0)
assert kernel.recv(100) == b"before the fork, in the child"
assert os.waitpid(child, 0)[1] == 0
send_kernel(b"to the parent", 5300)
assert server.recv(100) == b"to the parent"
# What was looked at and not read is a child's, too, and is read once. What waits stays when a socket is connected.
kernel.setsockopt(17, 103, 5)
send_kernel(b"firstsecondthird"[:10] + b"third", 5300)
kernel.setsockopt(17, 103, 0)
assert server.recv(100) == b"first"
assert server.recv(100, socket.MSG_PEEK) == b"secon"
child = os.fork()
if child == 0:
    server.sendto(b"child " + server.recv(100), peer)
    os._exit(0)
assert kernel.recv(100) == b"child secon"
assert os.waitpid(child, 0)[1] == 0
send_kernel(b"fourth", 5300)
while server.recv(100, socket.MSG_PEEK) != b"third":
    pass
server.connect(peer)
assert [server.recv(100), server.recv(100)] == [b"third", b"fourth"]
send_kernel(b"fifth", 5300)
assert server.recv(100) == b"fifth"
server.close()
# The stack hears of the child's end a moment later, and then the port is free.
end = time.monotonic() + 2
while True:
    try:
        udp().bind((inside, 5300))
        break
    except OSError as error:
        assert error.errno == errno.EADDRINUSE and time.monotonic() < end
one, other = udp(socket.SO_REUSEADDR), udp(socket.SO_REUSEADDR)
one.bind((inside, 5301))
one.connect(peer)
other.bind((inside, 5301))
send_kernel(b"to one", 5301)
assert one.recv(100) == b"to one"

# Messages of one call, and epoll.
class Vector(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("len", ctypes.c_size_t)]
class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_len", ctypes.c_uint), ("vectors", ctypes.POINTER(Vector)),
                ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("_", ctypes.c_int), ("len", ctypes.c_uint)]
names = [ctypes.create_string_buffer(struct.pack("=HH4s8x", socket.AF_INET, socket.htons(peer[1]), socket.inet_aton(outside)), 16)
         for _ in range(3)]
rooms = [ctypes.create_string_buffer(b"m%d" % n, 2) for n in range(3)]
messages = (Message * 3)()
for message, room, name in zip(messages, rooms, names):
    message.vectors, message.count = ctypes.pointer(Vector(ctypes.addressof(room), 2)), 1
    message.name, message.name_len = ctypes.addressof(name), 16
fresh = udp()
assert c.sendmmsg(fresh.fileno(), messages, 3, 0) == 3
got = [kernel.recvfrom(100) for _ in range(3)]
assert [data for data, _ in got] == [b"m0", b"m1", b"m2"]
epoll = select.epoll()
epoll.register(fresh, select.EPOLLIN | select.EPOLLET)
for n in range(3):
    send_kernel(b"r%d" % n, got[0][1][1])
assert epoll.poll(5) == [(fresh.fileno(), select.EPOLLIN)]
time.sleep(0.05)
assert c.recvmmsg(fresh.fileno(), messages, 3, socket.MSG_DONTWAIT, None) == 3
assert [room.raw for room in rooms] == [b"r0", b"r1", b"r2"] and [m.name_len for m in messages] == [16] * 3

# Another network is the kernel's, which has no way there.
away = udp()
try:
    away.sendto(b"away", ("203.0.113.1", 9))
    assert False
except OSError as error:
    assert error.errno == errno.ENETUNREACH

# Many, in both directions.
s.setblocking(True)
for turn in range(50):
    for n in range(40):
        s.send(struct.pack("II", turn, n))
    for n in range(40):
        assert kernel.recv(100) == struct.pack("II", turn, n)
        send_kernel(struct.pack("II", n, turn), port)
    for n in range(40):
        assert s.recv(100) == struct.pack("II", n, turn)
