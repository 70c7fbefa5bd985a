"""Processes that fork with connections and listeners of the stack. At the other end are sockets of the kernel's."""
import array, ctypes, errno, fcntl, os, select, signal, socket, struct, sys, termios, time, traceback

outside, inside = sys.argv[1], "10.1.0.2"
kernel = socket.create_server((outside, 0))
c = ctypes.CDLL(None, use_errno=True)

def pair():
    """A connection of the stack's, and its other end."""
    near = socket.create_connection(kernel.getsockname())
    far, peer = kernel.accept()
    assert peer[0] == inside
    far.settimeout(20)
    return near, far

def client(port):
    """A connection of the kernel's to the stack: a system call that no library sees."""
    s = socket.socket()
    name = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(inside))
    if c.syscall(42, s.fileno(), name, len(name)) != 0:
        raise OSError(ctypes.get_errno(), "connect")
    s.settimeout(20)
    return s

def child(run):
    number = os.fork()
    if number == 0:
        # If the test fails, nothing of it is left.
        c.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        code = 1
        try:
            code = run() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return number

def end(number):
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0

def ends(s):
    """Whether the peer has closed, within a while."""
    return bool(select.select([s], [], [], 5)[0]) and s.recv(1) == b""

def exactly(s, n):
    got = b""
    while len(got) < n and (part := s.recv(n - len(got))):
        got += part
    return got

def stays(s):
    return not select.select([s], [], [], 0.1)[0]

# A child serves what its parent accepted, and the parent closes it.
near, far = pair()
far.sendall(b"before ")
def serve():
    assert near.getpeername() == kernel.getsockname()
    near.sendall(b"got " + near.recv(12, socket.MSG_WAITALL))
serving = child(serve)
near.close()
far.sendall(b"after")
assert exactly(far, 16) == b"got before after"
end(serving)

# What was not read and what was not acknowledged moves, too, and so does the end of a direction.
near, far = pair()
near.setblocking(False)
out, came = os.urandom(8 << 20), os.urandom(300_000)
sent = 0
try:
    while True:
        sent += near.send(out[sent:])
except BlockingIOError:
    pass
assert 0 < sent < len(out)
far.sendall(came)
far.shutdown(socket.SHUT_WR)
while True:
    count = array.array("i", [0])
    fcntl.ioctl(near, termios.FIONREAD, count)
    if count[0] == len(came):
        break
first = near.recv(1000)
def relay():
    near.setblocking(True)
    got = bytearray(first)
    while part := near.recv(10_000):
        got += part
    assert got == came
    near.sendall(out[sent:])
serving = child(relay)
near.close()
got = bytearray()
while part := far.recv(1 << 16):
    got += part
assert got == out
end(serving)

# A connection stays while a child has it that does nothing, and ends when that is killed.
near, far = pair()
idle = child(lambda: time.sleep(60))
near.close()
assert stays(far)
os.kill(idle, signal.SIGKILL)
assert ends(far)
os.waitpid(idle, 0)

# It ends when a child closes it last, used or not.
for use in [lambda near: near.send(b"!"), lambda near: None]:
    near, far = pair()
    r, w = os.pipe()
    def wait():
        use(near)
        os.read(r, 1)
        near.close()
        os.read(r, 1)
    waiting = child(wait)
    near.close()
    time.sleep(0.1)
    used = select.select([far], [], [], 0)[0]
    assert not used or far.recv(1) == b"!"
    assert stays(far)
    os.write(w, b"x")
    assert ends(far)
    os.write(w, b"x")
    end(waiting)

# A child that becomes another program has nothing whose file descriptor is closed then.
near, far = pair()
other = child(lambda: os.execvp("sleep", ["sleep", "30"]))
near.close()
assert ends(far)
os.kill(other, signal.SIGKILL)
os.waitpid(other, 0)

# Unless its file descriptor stays open: then the program has the connection, and programs after it.
near, far = pair()
def become():
    os.dup2(near.fileno(), 0)
    os.dup2(near.fileno(), 1)
    os.execvp("sh", ["sh", "-c", "read line; echo got $line; exec cat"])
other = child(become)
near.close()
far.sendall(b"a line\nand more")
assert exactly(far, 19) == b"got a line\nand more"
far.shutdown(socket.SHUT_WR)
assert ends(far)
end(other)
# A program that does not look at it only keeps it open, and one that cannot be run leaves it where it was.
near, far = pair()
near.set_inheritable(True)
def sleep():
    try:
        os.execv("/nowhere", ["nowhere"])
    except FileNotFoundError:
        near.sendall(b"still")
    os.execvp("sleep", ["sleep", "30"])
other = child(sleep)
near.close()
assert exactly(far, 5) == b"still"
assert stays(far)
os.kill(other, signal.SIGKILL)
assert ends(far)
os.waitpid(other, 0)
# A listener and a socket of UDP.
l = socket.create_server((inside, 7150))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind((inside, 7151))
text = f"""if True:
    import socket
    s, peer = socket.socket(fileno={l.fileno()}).accept()
    s.sendall(s.recv(2) + b" accepted")
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, fileno={u.fileno()})
    u.sendto(b"datagram", (\"{outside}\", int(s.recv(10))))
"""
l.set_inheritable(True)
u.set_inheritable(True)
other = child(lambda: os.execv(sys.executable, [sys.executable, "-c", text]))
l.close()
u.close()
s = client(7150)
s.sendall(b"it")
assert exactly(s, 11) == b"it accepted"
other_end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
other_end.bind((outside, 0))
other_end.settimeout(20)
s.sendall(b"%d" % other_end.getsockname()[1])
assert other_end.recvfrom(20) == (b"datagram", (inside, 7151))
end(other)

# A process that closes all numbers but some has what they are, and no more.
for close_all in [lambda: os.closerange(3, 5000), lambda: c.closefrom(3), lambda: [c.close(fd) for fd in range(3, 5000)]]:
    near, far = pair()
    other, other_far = pair()
    def clean():
        os.dup2(near.fileno(), 0)
        other.send(b"?")
        close_all()
        assert os.read(0, 5) == b"still"
        os.write(0, b"here")
        time.sleep(60)
    cleaning = child(clean)
    near.close()
    other.close()
    assert exactly(other_far, 1) == b"?" and ends(other_far)
    far.sendall(b"still")
    assert exactly(far, 4) == b"here" and stays(far)
    os.kill(cleaning, signal.SIGKILL)
    assert ends(far)
    os.waitpid(cleaning, 0)

# A child that does nothing with it is not in the way, however it ends.
near, far = pair()
end(child(lambda: None))
near.sendall(b"still here")
assert exactly(far, 10) == b"still here"

# Parent and child in turns; duplicates and epolls are of the same connection.
other = os.dup(near.fileno())
epoll = select.epoll()
epoll.register(near, select.EPOLLIN)
for turn in range(10):
    def speak():
        far.sendall(b"ask")
        assert epoll.poll(5) == [(near.fileno(), select.EPOLLIN)]
        assert os.read(other, 3) == b"ask"
        near.sendall(b"child")
    end(child(speak))
    assert exactly(far, 5) == b"child"
    near.sendall(b"parent")
    assert exactly(far, 6) == b"parent"
    far.sendall(b"p")
    assert near.recv(1) == b"p"
epoll.close()
near.close()
assert stays(far)
os.close(other)
assert ends(far)

# Grandchildren: each generation does a part.
near, far = pair()
def generation(left):
    near.sendall(b"%d" % left)
    if left:
        end(child(lambda: generation(left - 1)))
end(child(lambda: generation(5)))
assert exactly(far, 6) == b"543210"
def skip(left):
    if left:
        end(child(lambda: skip(left - 1)))
    else:
        near.sendall(b"deep")
end(child(lambda: skip(3)))
assert exactly(far, 4) == b"deep"
near.close()
assert ends(far)

# Workers accept what their parent listens for. One that is killed takes nothing with it but what it has.
def worker(l):
    while True:
        s, _ = l.accept()
        s.sendall(b"%d" % os.getpid())
        s.close()
def who(port):
    s = client(port)
    got = bytearray()
    while part := s.recv(100):
        got += part
    return int(got)
l = socket.create_server((inside, 7100))
early = client(7100)
workers = [child(lambda: worker(l)) for _ in range(3)]
# It came before there was any of them.
assert int(early.recv(100)) in workers
deadline = time.monotonic() + 20
seen = set()
while seen != set(workers):
    seen.add(who(7100))
    assert time.monotonic() < deadline, (seen, workers)
for turn in range(3):
    gone = workers.pop(0)
    os.kill(gone, signal.SIGKILL)
    os.waitpid(gone, 0)
    time.sleep(0.05)
    workers.append(child(lambda: worker(l)))
    for _ in range(20):
        assert who(7100) in workers + [gone]
# The parent takes part when it accepts, too.
l.setblocking(False)
deadline = time.monotonic() + 20
while True:
    s = client(7100)
    if select.select([l], [], [], 0.05)[0]:
        taken, _ = l.accept()
        taken.setblocking(True)
        taken.sendall(b"parent")
        assert exactly(s, 6) == b"parent"
        break
    assert time.monotonic() < deadline
l.close()
s.close()
taken.close()
# The workers go on without it, and the port is free when the last is gone.
while select.select([s := client(7100)], [], [], 2)[0] == []:
    pass
assert int(s.recv(100)) in workers
for each in workers:
    os.kill(each, signal.SIGKILL)
    os.waitpid(each, 0)
deadline = time.monotonic() + 20
while True:
    try:
        client(7100).close()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    except ConnectionRefusedError:
        break

# A daemon: it listens, forks twice, and both before are gone when it accepts.
def daemon():
    l = socket.create_server((inside, 7200))
    epoll = select.epoll()
    epoll.register(l, select.EPOLLIN)
    def second():
        os.setsid()
        if os.fork():
            return
        time.sleep(0.1)
        for _ in range(3):
            assert epoll.poll(10)
            s, _ = l.accept()
            s.sendall(s.recv(3, socket.MSG_WAITALL) + b" daemon")
            s.close()
    if os.fork() == 0:
        signal.alarm(30)
        second()
end(child(daemon))
first = client(7200)
first.sendall(b"one")
assert exactly(first, 100) == b"one daemon"
for _ in range(2):
    s = client(7200)
    s.sendall(b"two")
    assert exactly(s, 100) == b"two daemon"

# Many at once, each with a connection to a server that echoes.
def crowd():
    s = socket.create_connection((outside, int(sys.argv[2])))
    def speak():
        s.sendall(b"turn")
        assert exactly(s, 4) == b"turn"
    for _ in range(5):
        end(child(speak))
for each in [child(crowd) for _ in range(30)]:
    end(each)
