"""Ends of processes, and forks beside threads that use sockets of the stack."""
import os, signal, socket, sys, threading, time

address = sys.argv[1], int(sys.argv[2])
kernel = socket.create_server((address[0], 0))

# What a process has written arrives, however it ends.
data = os.urandom(500_000)
for end in [lambda: os._exit(0), lambda: sys.exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL)]:
    child = os.fork()
    if child == 0:
        near = socket.create_connection(kernel.getsockname())
        near.sendall(data)
        end()
    far, _ = kernel.accept()
    got = bytearray()
    while part := far.recv(1 << 16):
        got += part
    assert got == data
    os.waitpid(child, 0)

# Threads open and close sockets while others fork: no child finds a lock that is taken.
over = False
def churn():
    while not over:
        s = socket.create_connection(address)
        s.send(b"?")
        s.recv(1)
        s.close()
threads = [threading.Thread(target=churn) for _ in range(3)]
[thread.start() for thread in threads]
for _ in range(100):
    child = os.fork()
    if child == 0:
        for fd in range(3, 40):
            try:
                os.close(fd)
            except OSError:
                pass
        os.dup2(0, 20)
        os._exit(7)
    end = time.monotonic() + 20
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            over = True
            sys.exit("a child hangs")
        time.sleep(0.001)
    assert os.waitstatus_to_exitcode(found[1]) == 7
over = True
[thread.join() for thread in threads]
