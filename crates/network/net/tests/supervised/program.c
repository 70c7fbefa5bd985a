// A program that is linked statically: what it says of itself is the test. Its first argument says what it does.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                  \
    do {                                                                             \
        errno = 0;                                                                   \
        if (!(what)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, strerror(errno)); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

static struct sockaddr_in remote;

static struct sockaddr_in at(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    CHECK(inet_pton(AF_INET, host, &address.sin_addr) == 1);
    return address;
}

static int tcp(int flags) {
    int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
    CHECK(fd >= 0);
    return fd;
}

static int connected(void) {
    int fd = tcp(0);
    CHECK(connect(fd, (void *)&remote, sizeof remote) == 0);
    return fd;
}

static void write_all(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        CHECK(n > 0);
        bytes += n, len -= n;
    }
}

static void read_all(int fd, char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = read(fd, bytes, len);
        CHECK(n > 0);
        bytes += n, len -= n;
    }
}

static void echo(int fd) {
    char got[5];
    write_all(fd, "hello", 5);
    read_all(fd, got, 5);
    CHECK(memcmp(got, "hello", 5) == 0);
}

static int option(int fd, int level, int name) {
    int value = -1;
    socklen_t len = sizeof value;
    CHECK(getsockopt(fd, level, name, &value, &len) == 0 && len == sizeof value);
    return value;
}

static int events_of(int fd, int events, int timeout) {
    struct pollfd one = {.fd = fd, .events = events};
    CHECK(poll(&one, 1, timeout) >= 0);
    return one.revents;
}

static void blocking(void) {
    struct sockaddr_in got;
    socklen_t len = sizeof got;
    int fd = connected();
    CHECK(getpeername(fd, (void *)&got, &len) == 0 && len == sizeof got);
    CHECK(got.sin_addr.s_addr == remote.sin_addr.s_addr && got.sin_port == remote.sin_port);
    CHECK(getsockname(fd, (void *)&got, &len) == 0 && got.sin_family == AF_INET);
    CHECK(ntohl(got.sin_addr.s_addr) == 0x0A010002 && got.sin_port != 0);
    CHECK(connect(fd, (void *)&remote, sizeof remote) == -1 && errno == EISCONN);
    echo(fd);
    int one = 1;
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    CHECK(option(fd, IPPROTO_TCP, TCP_NODELAY) == 1);
    CHECK(option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM);
    CHECK(option(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET);
    CHECK(option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP);
    CHECK(option(fd, SOL_SOCKET, SO_ERROR) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &got, sizeof got) == -1);
    struct tcp_info info = {0};
    len = sizeof info;
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 && info.tcpi_state == 1);
    struct timeval time = {.tv_usec = 50000};
    char byte;
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    CHECK(read(fd, &byte, 1) == -1 && errno == EAGAIN);
    echo(fd);
    // The end in one direction: the peer ends the other when it has sent all back.
    write_all(fd, "last", 4);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    char last[4];
    read_all(fd, last, 4);
    CHECK(memcmp(last, "last", 4) == 0 && read(fd, last, 1) == 0);
    close(fd);
}

static void nonblocking(void) {
    int fd = tcp(SOCK_NONBLOCK | SOCK_CLOEXEC);
    CHECK(connect(fd, (void *)&remote, sizeof remote) == -1 && errno == EINPROGRESS);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(events_of(fd, POLLIN | POLLOUT, 5000) == POLLOUT);
    CHECK(option(fd, SOL_SOCKET, SO_ERROR) == 0);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    CHECK(epoll_wait(epoll, &event, 1, 0) == 0);
    write_all(fd, "ping!", 5);
    CHECK(epoll_wait(epoll, &event, 1, 5000) == 1 && event.events == EPOLLIN);
    int waiting;
    CHECK(ioctl(fd, FIONREAD, &waiting) == 0 && waiting == 5);
    close(epoll);
    close(fd);
}

// A socket that is in an epoll before it connects.
static void registered(void) {
    int fd = tcp(SOCK_NONBLOCK), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u64 = 77};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    CHECK(epoll_wait(epoll, &event, 1, 0) == 1 && event.events & EPOLLHUP);
    CHECK(connect(fd, (void *)&remote, sizeof remote) == -1 && errno == EINPROGRESS);
    CHECK(epoll_wait(epoll, &event, 1, 5000) == 1);
    CHECK(event.data.u64 == 77 && event.events == EPOLLOUT);
    CHECK(option(fd, SOL_SOCKET, SO_ERROR) == 0);
    write_all(fd, "ping!", 5);
    // That there is room again may be told first.
    do CHECK(epoll_wait(epoll, &event, 1, 5000) == 1);
    while (!(event.events & EPOLLIN));
    event.events = EPOLLOUT;
    CHECK(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0);
    CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event) == 0);
    close(epoll);
    close(fd);
}

// A port where nothing listens.
static void refused(void) {
    struct sockaddr_in nowhere = remote;
    nowhere.sin_port = htons(9);
    int fd = tcp(0);
    CHECK(connect(fd, (void *)&nowhere, sizeof nowhere) == -1 && errno == ECONNREFUSED);
    // The socket is as it was.
    CHECK(connect(fd, (void *)&remote, sizeof remote) == 0);
    echo(fd);
    close(fd);
    fd = tcp(SOCK_NONBLOCK);
    CHECK(connect(fd, (void *)&nowhere, sizeof nowhere) == -1 && errno == EINPROGRESS);
    CHECK(events_of(fd, POLLOUT, 5000) & POLLOUT);
    CHECK(option(fd, SOL_SOCKET, SO_ERROR) == ECONNREFUSED);
    char byte = 0;
    CHECK(send(fd, &byte, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
    CHECK(connect(fd, (void *)&remote, sizeof remote) == -1 && errno == ECONNABORTED);
    CHECK(connect(fd, (void *)&remote, sizeof remote) == -1 && errno == EINPROGRESS);
    CHECK(events_of(fd, POLLOUT, 5000) == POLLOUT && option(fd, SOL_SOCKET, SO_ERROR) == 0);
    close(fd);
}

static void *chat(void *count) {
    for (int n = 0; n < *(int *)count; n++) {
        int fd = connected();
        echo(fd);
        close(fd);
    }
    return NULL;
}

static void shared(void) {
    // Children have what was open, and open their own.
    int fd = connected();
    pid_t child = fork();
    if (child == 0) {
        echo(fd);
        close(fd);
        int own = 1;
        chat(&own);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    echo(fd);
    close(fd);
    pthread_t threads[8];
    int count = 20;
    for (int n = 0; n < 8; n++) CHECK(pthread_create(&threads[n], NULL, chat, &count) == 0);
    for (int n = 0; n < 8; n++) CHECK(pthread_join(threads[n], NULL) == 0);
    // Many at once.
    int many[100];
    for (int n = 0; n < 100; n++) many[n] = connected();
    for (int n = 0; n < 100; n++) echo(many[n]);
    for (int n = 0; n < 100; n++) close(many[n]);
}

static void nonsense(void) {
    int fd = connected(), fresh = tcp(0);
    socklen_t len = sizeof remote, huge = 1u << 31;
    CHECK(connect(fresh, (void *)8, sizeof remote) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_connect, fresh, &remote, -1) == -1);
    CHECK(getpeername(fd, (void *)8, &len) == -1 && errno == EFAULT);
    CHECK(getpeername(fd, (void *)&remote, &huge) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_getsockname, fd, &remote, -1) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, 8, 4) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, &len, 1 << 30) == 0);
    CHECK(syscall(SYS_accept4, fd, 0, 0, -1) == -1 && errno == EINVAL);
    CHECK(listen(fd, 1) == -1 && errno == EINVAL);
    CHECK(listen(-1, 1) == -1 && errno == EBADF);
    CHECK(bind(fd, (void *)&remote, sizeof remote) == -1 && errno == EINVAL);
    echo(fd);
    close(fd);
    close(fresh);
}

// What is not the stack's works as ever.
static void kernels(void) {
    int server = tcp(0), client = tcp(0);
    struct sockaddr_in near = at("127.0.0.1", 0);
    socklen_t len = sizeof near;
    CHECK(bind(server, (void *)&near, sizeof near) == 0 && listen(server, 1) == 0);
    CHECK(getsockname(server, (void *)&near, &len) == 0);
    CHECK(connect(client, (void *)&near, sizeof near) == 0);
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0);
    write_all(client, "x", 1);
    char byte;
    read_all(accepted, &byte, 1);
    close(server), close(client), close(accepted);
}

static void ignore(int signal) { (void)signal; }

// The other side resets.
static void reset(void) {
    char byte;
    int fd = connected();
    CHECK(read(fd, &byte, 1) == -1 && errno == ECONNRESET);
    CHECK(send(fd, "x", 1, MSG_NOSIGNAL) == -1);
    close(fd);
}

static unsigned long draw(unsigned *state, unsigned long below) {
    return (unsigned long)rand_r(state) % below;
}

// Calls with arguments at random, from children that are killed in the middle of it.
static void hostile(int calls) {
    const long numbers[] = {SYS_connect,     SYS_bind,        SYS_listen,     SYS_accept,     SYS_accept4,
                            SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_epoll_ctl};
    for (unsigned child = 0; child < 4; child++) {
        if (fork() != 0) continue;
        CHECK(setpgid(0, 0) == 0);
        unsigned state = child + 1;
        struct sockaddr_in near = at("10.1.0.2", 0), nowhere = remote;
        nowhere.sin_port = htons(9);
        struct sigaction action = {.sa_handler = ignore};
        CHECK(sigaction(SIGALRM, &action, NULL) == 0);
        char garbage[256];
        for (int n = 0; n < 256; n++) garbage[n] = draw(&state, 256);
        unsigned long values[] = {0, 1, 2, 3, 4, 6, 16, 28, 1u << 31, -1ul, 8, (unsigned long)&remote,
                                  (unsigned long)&near, (unsigned long)&nowhere, (unsigned long)garbage};
        const unsigned long count = sizeof values / sizeof *values;
        int kind = 0;
        for (int n = 0; n < calls; n++) {
            // A call that waits is given up.
            ualarm(2000, 0);
            int fd = n % 3 == 0 ? tcp(draw(&state, 2) ? SOCK_NONBLOCK : 0) : 3 + (int)draw(&state, 30);
            if (fd > 30) close(3 + draw(&state, 30)), close(fd);
            kind = draw(&state, 10);
            unsigned long arguments[5];
            for (int m = 0; m < 5; m++) arguments[m] = values[draw(&state, count)];
            // Most sockets that wait do not.
            if (draw(&state, 8)) fcntl(fd, F_SETFL, O_NONBLOCK);
            syscall(numbers[kind], fd, arguments[0], arguments[1], arguments[2], arguments[3]);
            char byte = 0;
            if (draw(&state, 4) == 0) send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        int server = tcp(0);
        bind(server, (void *)&near, sizeof near), listen(server, 1), accept(server, NULL, NULL);
        ualarm(0, 0);
        if (fork() == 0) accept(server, NULL, NULL);
        usleep(1000);
        kill(0, SIGKILL);
    }
    int status;
    while (wait(&status) > 0) CHECK(WIFSIGNALED(status));
    // All is as it was for others.
    int fd = connected();
    echo(fd);
    close(fd);
}

// Sends what comes back.
static void bulk(size_t len) {
    char *bytes = malloc(len), *got = malloc(len);
    for (size_t n = 0; n < len; n++) bytes[n] = (n * 2654435761u) >> 13;
    int fd = connected();
    if (fork() == 0) {
        write_all(fd, bytes, len);
        CHECK(shutdown(fd, SHUT_WR) == 0);
        _exit(0);
    }
    read_all(fd, got, len);
    CHECK(memcmp(bytes, got, len) == 0 && read(fd, got, 1) == 0);
    int status;
    CHECK(wait(&status) > 0 && status == 0);
}

// A listener that nothing comes to.
static void quiet(void) {
    int server = tcp(0);
    struct sockaddr_in address = remote;
    socklen_t len = sizeof address;
    address.sin_port = 0;
    CHECK(bind(server, (void *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    CHECK(getsockname(server, (void *)&address, &len) == 0 && address.sin_port != 0);
    CHECK(option(server, SOL_SOCKET, SO_ACCEPTCONN) == 1);
    CHECK(fcntl(server, F_SETFL, O_NONBLOCK) == 0);
    CHECK(accept(server, NULL, NULL) == -1 && errno == EAGAIN);
    CHECK(events_of(server, POLLIN, 0) == 0);
    CHECK(fcntl(server, F_SETFL, 0) == 0);
    struct sigaction action = {.sa_handler = ignore};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    ualarm(20000, 0);
    CHECK(accept(server, NULL, NULL) == -1 && errno == EINTR);
    close(server);
}

// Serves some connections, and checks what `accept` says.
static void serve(int count) {
    int server = tcp(0), one = 1;
    struct sockaddr_in peer;
    socklen_t len = sizeof peer;
    quiet();
    CHECK(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
    CHECK(bind(server, (void *)&remote, sizeof remote) == 0 && listen(server, 64) == 0);
    for (int n = 0; n < count; n++) {
        // Of each three, one is waited for with `poll`.
        if (n % 3 == 0) CHECK(events_of(server, POLLIN, 20000) == POLLIN);
        len = sizeof peer;
        int fd = accept4(server, (void *)&peer, &len, SOCK_CLOEXEC);
        CHECK(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
        CHECK(len == sizeof peer && ntohl(peer.sin_addr.s_addr) == 0x0A010001);
        // A child serves it.
        if (fork() == 0) {
            char bytes[4096];
            ssize_t n;
            while ((n = read(fd, bytes, sizeof bytes)) > 0) write_all(fd, bytes, n);
            _exit(n == 0 ? 0 : 1);
        }
        close(fd);
    }
    CHECK(events_of(server, POLLIN, 0) == 0);
    int status;
    while (wait(&status) > 0) CHECK(status == 0);
}

int main(int count, char **arguments) {
    CHECK(count >= 4);
    const char *what = arguments[1];
    remote = at(arguments[2], atoi(arguments[3]));
    if (strcmp(what, "calls") == 0) {
        blocking(), nonblocking(), registered(), refused(), shared(), nonsense(), kernels();
    } else if (strcmp(what, "reset") == 0) {
        reset();
    } else if (strcmp(what, "hostile") == 0) {
        hostile(atoi(arguments[4]));
    } else if (strcmp(what, "bulk") == 0) {
        bulk(atoi(arguments[4]));
    } else if (strcmp(what, "serve") == 0) {
        serve(atoi(arguments[4]));
    } else if (strcmp(what, "exit") == 0) {
        return 7;
    } else if (strcmp(what, "wait") == 0) {
        connected();
        pause();
    }
    return 0;
}
