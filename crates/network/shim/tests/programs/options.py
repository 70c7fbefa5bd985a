"""Options of sockets of the stack: each has its own. The kernel's sockets at the other end show the effects."""
import array, errno, fcntl, os, resource, select, socket, struct, subprocess, sys, termios, threading, time

outside = sys.argv[1]
inside = "10.1.0.2"
kernel = socket.create_server((outside, 0))

def no_delay(s):
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

def waiting(s):
    count = array.array("i", [0])
    fcntl.ioctl(s, termios.FIONREAD, count)
    return count[0]

# Two small writes: without the option the second waits until the first is acknowledged, which the kernel delays for 40 ms.
def two_writes(on):
    near = socket.create_connection(kernel.getsockname())
    far, peer = kernel.accept()
    assert peer[0] == inside, peer
    far.setsockopt(socket.IPPROTO_TCP, 12, 0)  # TCP_QUICKACK
    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, on)
    assert no_delay(near) == on
    near.send(b"a")
    while waiting(far) == 0:
        pass
    near.send(b"b")
    time.sleep(0.01)
    return waiting(far)
# The machine may be busy for longer than that.
assert any(two_writes(0) == 1 for _ in range(20))
assert any(two_writes(1) == 2 for _ in range(20))

# Options of a connection that was accepted are its own.
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
l.bind((inside, 7001))
l.listen()
def accepted():
    # The client is a process of the kernel's, which says what came at the end.
    text = "import socket, sys; s = socket.create_connection(('10.1.0.2', 7001)); s.send(b'!'); print(s.recv(1))"
    client = subprocess.Popen([sys.executable, "-c", text], env={**os.environ, "LD_PRELOAD": ""},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    s, _ = l.accept()
    assert s.recv(1) == b"!"
    return s, client
one, first = accepted()
other, second = accepted()
assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
one.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 5)
for s in [other, l]:
    assert no_delay(s) == 0
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) == struct.pack("ii", 0, 0)
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 0
assert one.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY) == 5
one.close()
other.close()
assert b"ConnectionResetError" in first.communicate()[1]
assert second.communicate() == (b"b''\n", b"")

# A connection for which there is no file descriptor waits.
_, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
three, third = None, subprocess.Popen(
    [sys.executable, "-c", "import socket; s = socket.create_connection(('10.1.0.2', 7001)); print(s.recv(2))"],
    env={**os.environ, "LD_PRELOAD": ""}, stdout=subprocess.PIPE)
select.select([l], [], [])
far = socket.socket()
last = os.dup(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, limit))
spare = []
try:
    while True:
        spare.append(os.dup(0))
except OSError as error:
    assert error.errno == errno.EMFILE
# To connect takes none, nor does to wait, of however many threads.
far.connect(kernel.getsockname())
gots = []
threads = [threading.Thread(target=lambda: gots.append(far.recv(1))) for _ in range(4)]
[thread.start() for thread in threads]
time.sleep(0.05)
# The kernel's end has a number that is given back for it.
os.close(last)
end, _ = kernel.accept()
end.sendall(b"four")
[thread.join() for thread in threads]
assert sorted(gots) == [b"f", b"o", b"r", b"u"]
for _ in range(3):
    try:
        l.accept()
        assert False
    except OSError as error:
        assert error.errno == errno.EMFILE
end.close()
three, _ = l.accept()
three.send(b"ok")
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
assert third.communicate()[0] == b"b'ok'\n"
