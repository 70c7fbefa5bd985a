"""A thread forks while others open, accept and close connections of the stack. At the other end are sockets of the kernel's."""
import ctypes, os, signal, socket, struct, sys, threading, time

outside, inside = sys.argv[1], "10.1.0.2"
c = ctypes.CDLL(None, use_errno=True)
failures = []
done = threading.Event()
kept = []

def ends(s):
    """Whether the peer has closed, within a while."""
    s.settimeout(10)
    try:
        return s.recv(1) == b""
    except TimeoutError:
        return False

def repeat(body):
    def run():
        try:
            while not done.is_set() and not failures:
                body()
        except BaseException as error:
            failures.append(f"{body.__name__}: {error!r}")
    return threading.Thread(target=run)

closing = socket.create_server((outside, 0))
def open_and_close():
    near = socket.create_connection(closing.getsockname())
    far, _ = closing.accept()
    near.close()
    assert ends(far), "a connection that was closed is still there"
    far.close()

listener = socket.create_server((inside, 0))
def accept_and_close():
    # A connection of the kernel's: a system call that no library sees.
    far = socket.socket()
    name = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(listener.getsockname()[1]), socket.inet_aton(inside))
    assert c.syscall(42, far.fileno(), name, len(name)) == 0
    near, _ = listener.accept()
    near.close()
    assert ends(far), "a connection that was accepted and closed is still there"
    far.close()

keeping = socket.create_server((outside, 0))
others = []  # Not closed before the end: what was not read would reset a connection that a child has.
def open_and_keep():
    kept.append(socket.create_connection(keeping.getsockname()))
    others.append(keeping.accept()[0])
    if len(kept) > 2:
        kept.pop(0).close()
    time.sleep(0.005)

threads = [repeat(body) for body in (open_and_close, accept_and_close, open_and_keep)]
for thread in threads:
    thread.start()
children = []
end = time.monotonic() + 20
while len(children) < 200 and not failures and time.monotonic() < end:
    r, w = os.pipe()
    number = os.fork()
    if number == 0:
        c.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        try:
            for s in kept:
                s.send(b"x")
            os.write(w, b"+")
        except BaseException as error:
            os.write(w, repr(error).encode())
        # What it has by a file descriptor it has no longer; it lives on.
        os.closerange(3, 1 << 16)
        signal.pause()
    os.close(w)
    children.append(number)
    said = os.read(r, 1000)
    os.close(r)
    if said != b"+":
        failures.append(f"a child: {said}")
    time.sleep(0.002)
done.set()
for thread in threads:
    thread.join()
for number in children:
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
assert not failures, failures
