// Calls whose flags strace names: what syscall_log says of them is held to what strace says. gcc -O1 -static -o calls calls.c
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void files(void) {
    int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dir, "calls.tmp", O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0640);
    openat(AT_FDCWD, "calls.none", O_WRONLY | O_NONBLOCK | O_SYNC | O_NOATIME | O_EXCL);
    openat(AT_FDCWD, "calls.none", O_RDONLY | O_DIRECT | O_DSYNC | O_NOCTTY | O_LARGEFILE);
    close(openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC));
    close(openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0600));
    write(fd, "0123456789", 10);
    lseek(fd, -4, SEEK_END), lseek(fd, 2, SEEK_CUR), lseek(fd, 0, SEEK_SET);
    fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096), fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
    posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED), sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE);
    flock(fd, LOCK_EX | LOCK_NB), flock(fd, LOCK_UN);
    faccessat(dir, "calls.tmp", R_OK | W_OK, 0), faccessat(AT_FDCWD, "calls.none", F_OK, 0);
    struct stat st;
    fstatat(dir, "calls.tmp", &st, AT_SYMLINK_NOFOLLOW), fstatat(fd, "", &st, AT_EMPTY_PATH);
    struct statx stx;
    statx(AT_FDCWD, ".", AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_SIZE, &stx);
    fchmod(fd, 0644), umask(022), mkdirat(dir, "calls.d", 0700), unlinkat(dir, "calls.d", AT_REMOVEDIR), unlinkat(dir, "calls.tmp", 0);
    renameat2(AT_FDCWD, "calls.none", AT_FDCWD, "calls.no", RENAME_NOREPLACE);
    fcntl(fd, F_GETFD), fcntl(fd, F_SETFD, FD_CLOEXEC), fcntl(fd, F_GETFL), fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 20);
    dup3(fd, copy + 1, O_CLOEXEC), dup(fd);
    struct flock lock = {.l_type = F_WRLCK};
    fcntl(fd, F_SETLK, &lock), fcntl(fd, F_GETPIPE_SZ);
    syscall(SYS_close_range, copy, copy + 1, 4);
    ioctl(fd, TIOCGWINSZ, &st), ioctl(fd, FIONBIO, &(int){1});
    close(fd);
}

static void memory(void) {
    char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mmap(at, 4096, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0);
    mprotect(at + 4096, 4096, PROT_READ | PROT_EXEC), madvise(at + 8192, 4096, MADV_DONTNEED), madvise(at + 8192, 4096, MADV_HUGEPAGE);
    msync(at, 4096, MS_SYNC | MS_INVALIDATE), mlock2(at, 4096, MLOCK_ONFAULT), mremap(at, 65536, 32768, MREMAP_MAYMOVE);
    int fd = memfd_create("m", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    getrandom(at + 8192, 8, GRND_NONBLOCK);
    close(fd);
}

static void sockets(void) {
    int pair[2], s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP), u = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socket(AF_NETLINK, SOCK_RAW, 0), socket(AF_UNIX, SOCK_SEQPACKET, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int on = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(u, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    bind(s, (struct sockaddr *)&address, sizeof address), listen(s, 5), getsockname(s, (struct sockaddr *)&address, &length);
    int c = socket(AF_INET, SOCK_STREAM, 0);
    connect(c, (struct sockaddr *)&address, length);
    int a = accept4(s, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    getsockopt(a, SOL_SOCKET, SO_ERROR, &on, &length);
    send(c, "hello", 5, MSG_NOSIGNAL | MSG_DONTWAIT), recv(a, &on, 2, MSG_PEEK), recv(a, &on, 2, MSG_WAITALL), sendto(c, "x", 1, 0, NULL, 0);
    shutdown(c, SHUT_WR), shutdown(a, SHUT_RDWR), shutdown(a, 9);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), pipe2(pair, O_NONBLOCK | O_DIRECT);
}

static void waits(void) {
    int ep = epoll_create1(EPOLL_CLOEXEC), ev = eventfd(1, EFD_NONBLOCK | EFD_SEMAPHORE), none = 0;
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(ep, EPOLL_CTL_ADD, ev, &event), epoll_ctl(ep, EPOLL_CTL_MOD, ev, &event), epoll_wait(ep, &event, 1, 0);
    epoll_ctl(ep, EPOLL_CTL_DEL, ev, NULL);
    struct pollfd poll_fd = {.fd = ev, .events = POLLIN};
    ppoll(&poll_fd, 1, &(struct timespec){0}, NULL);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec at = {.it_value.tv_sec = 100};
    timerfd_settime(timer, 0, &at, NULL), timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
    inotify_add_watch(inotify_init1(IN_NONBLOCK), ".", IN_CREATE | IN_DELETE);
    struct timespec now = {0};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, NULL), syscall(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
    syscall(SYS_futex, &none, FUTEX_WAIT_PRIVATE, 1, NULL), syscall(SYS_futex, &none, FUTEX_WAKE, 1);
    syscall(SYS_futex, &none, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    syscall(SYS_futex, &none, FUTEX_CMP_REQUEUE_PRIVATE, 1, 2, &none, 0), syscall(SYS_futex, &none, FUTEX_WAKE_OP_PRIVATE, 1, 1, &none, 0);
    syscall(SYS_futex, &none, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL), syscall(SYS_futex, &none, FUTEX_UNLOCK_PI_PRIVATE);
}

static void processes(void) {
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigprocmask(SIG_BLOCK, &set, NULL);
    signalfd(-1, &set, SFD_CLOEXEC), signal(SIGPIPE, SIG_IGN), signal(SIGRTMIN + 1, SIG_IGN), kill(getpid(), 0), kill(getpid(), SIGUSR1);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit), prctl(PR_SET_NAME, "calls", 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), sched_get_priority_max(SCHED_FIFO);
    struct itimerval timer = {0};
    setitimer(ITIMER_REAL, &timer, NULL), unshare(CLONE_FILES);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    pid_t child = fork();
    if (child == 0) _exit(3);
    waitpid(child, NULL, __WALL), waitpid(-1, NULL, WNOHANG | WUNTRACED), waitid(P_ALL, 0, NULL, WEXITED | WNOHANG);
}

int main(void) {
    files(), memory(), sockets(), waits(), processes();
    return 0;
}
