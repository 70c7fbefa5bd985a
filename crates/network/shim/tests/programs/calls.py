"""What sockets of the stack do, against a server of the kernel's that echoes. The kernel's sockets do the same."""
import array, errno, fcntl, os, select, signal, socket, struct, sys, termios, threading, time

address = sys.argv[1], int(sys.argv[2])
inside = "10.1.0.2"

# Blocking.
s = socket.create_connection(address)
assert s.getpeername() == address and s.getsockname()[0] == inside, s
s.sendall(b"hello")
assert s.recv(5, socket.MSG_WAITALL) == b"hello"
s.sendmsg([b"ab", b"cde"])
assert s.recv(2, socket.MSG_PEEK) == b"ab"
select.select([s], [], [])
while True:
    count = array.array("i", [0])
    fcntl.ioctl(s, termios.FIONREAD, count)
    if count[0] == 5:
        break
room = [bytearray(2), bytearray(3)]
assert s.recvmsg_into(room)[0] == 5 and room == [b"ab", b"cde"], room

# Timeouts, by the option and by poll.
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50_000))
start = time.monotonic()
try:
    s.recv(1)
    assert False
except BlockingIOError:
    assert time.monotonic() - start > 0.045
s.settimeout(0.05)
try:
    s.recv(1)
    assert False
except TimeoutError:
    pass

# A signal interrupts what waits.
class Rang(Exception):
    pass
def ring(*_):
    raise Rang
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.1)
s.settimeout(None)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
try:
    s.recv(1)
    assert False
except Rang:
    pass

# Duplicates are one socket.
other = os.dup(s.fileno())
os.write(other, b"dup")
assert s.recv(3, socket.MSG_WAITALL) == b"dup"
s.setblocking(False)
try:
    os.read(other, 1)
    assert False
except BlockingIOError:
    pass
s.close()
os.set_blocking(other, True)
os.writev(other, [b"x", b"y"])
assert os.read(other, 1) + os.read(other, 1) == b"xy"
os.close(other)
try:
    os.read(other, 1)
    assert False
except OSError as error:
    assert error.errno == errno.EBADF

# Without waiting: the connection, and much more than there is room for.
s = socket.socket()
s.setblocking(False)
assert s.connect_ex(address) == errno.EINPROGRESS
poll = select.poll()
poll.register(s, select.POLLOUT)
r, w = os.pipe()
poll.register(r, select.POLLIN)
assert poll.poll() == [(s.fileno(), select.POLLOUT)]
assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
assert s.connect_ex(address) == errno.EISCONN
poll.modify(s, select.POLLIN)
assert poll.poll(20) == []
os.write(w, b"!")
assert poll.poll() == [(r, select.POLLIN)]
os.read(r, 1)

data = os.urandom(8 << 20)
for edge in [0, select.EPOLLET]:
    epoll = select.epoll()
    epoll.register(s, select.EPOLLIN | select.EPOLLOUT | edge)
    epoll.register(r, select.EPOLLIN)
    sent, got, turns = 0, bytearray(), 0
    while len(got) < len(data):
        events = epoll.poll(20)
        assert events, (sent, len(got))
        turns += 1
        for _, bits in events:
            try:
                while bits & select.EPOLLOUT and sent < len(data):
                    sent += s.send(data[sent:sent + 300_000])
            except BlockingIOError:
                pass
            try:
                while bits & select.EPOLLIN:
                    got += s.recv(100_000)
            except BlockingIOError:
                pass
    assert got == data
    # An edge is told once, a level again and again.
    epoll.poll(0)
    assert bool(epoll.poll(0)) == (edge == 0)
    epoll.modify(s, select.EPOLLIN | edge)
    assert epoll.poll(0.02) == []
    threading.Timer(0.05, os.write, (w, b"!")).start()
    assert epoll.poll(5) == [(r, select.EPOLLIN)]
    os.read(r, 1)
    threading.Timer(0.05, s.send, (b"?",)).start()
    assert epoll.poll(5) == [(s.fileno(), select.EPOLLIN)]
    s.recv(1)
    epoll.close()

# The end of one direction, and of both.
s.setblocking(True)
s.sendall(b"last")
s.shutdown(socket.SHUT_WR)
assert s.recv(100, socket.MSG_WAITALL) == b"last"
assert s.recv(1) == b""
try:
    s.send(b"more")
    assert False
except BrokenPipeError:
    pass
s.close()

# A port at which no server listens.
s = socket.socket()
assert s.connect_ex((address[0], 1)) == errno.ECONNREFUSED
s.close()

# A file.
s = socket.create_connection(address)
with open("sent", "wb+") as file:
    file.write(data[:100_000])
    file.seek(1000)
    total = 0
    while total < 50_000:
        total += os.sendfile(s.fileno(), file.fileno(), None, 50_000 - total)
    assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 51_000
assert s.recv(50_000, socket.MSG_WAITALL) == data[1000:51_000]

# A listener, and beside it a server of the kernel's that the same process connects to through the stack.
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind((inside, 7777))
l.listen()
assert l.getsockname() == (inside, 7777)
l.settimeout(0.05)
try:
    l.accept()
    assert False
except TimeoutError:
    pass
kernel = socket.create_server((address[0], 0))
near = socket.create_connection(kernel.getsockname())
near.sendall(b"near")
far, peer = kernel.accept()
assert peer[0] == inside and far.recv(4) == b"near"
