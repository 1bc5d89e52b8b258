// Lets one call fail that writes below a folder, in a command and in all that it starts, static programs too: the kernel asks before each.
//   failing FOLDER COUNTERS COMMAND...
// COUNTERS is the file of `struct counters`; a test may change it at any time. Exits with 99 where the kernel does not ask.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

struct counters {
	int64_t count, at; // how many calls there were; which one fails, from 1 on, or none
	int64_t error;     // with which error; 0: it never happens, as the command is killed
	int64_t length;    // calls that fail from `at` on
	int64_t removals;  // whether what removes a file is counted too
	char failed[4056]; // the path of the last one
};

// A file of a call: an argument that is a descriptor, or a path below the descriptor in another argument (-1: below the working folder).
struct call {
	int number, file, path, folder;
};

static const struct call calls[] = {
	{ SYS_write, 0, -1, -1 }, { SYS_writev, 0, -1, -1 }, { SYS_pwrite64, 0, -1, -1 }, { SYS_pwritev, 0, -1, -1 },
	{ SYS_pwritev2, 0, -1, -1 }, { SYS_sendfile, 0, -1, -1 }, { SYS_copy_file_range, 2, -1, -1 }, { SYS_splice, 2, -1, -1 },
	{ SYS_fsync, 0, -1, -1 }, { SYS_fdatasync, 0, -1, -1 }, { SYS_ftruncate, 0, -1, -1 }, { SYS_fallocate, 0, -1, -1 },
	{ SYS_renameat2, -1, 3, 2 }, { SYS_renameat, -1, 3, 2 }, { SYS_linkat, -1, 3, 2 }, { SYS_symlinkat, -1, 2, 1 },
	{ SYS_mkdirat, -1, 1, 0 }, { SYS_mknodat, -1, 1, 0 }, { SYS_openat, -1, 1, 0 }, { SYS_unlinkat, -1, 1, 0 },
#ifdef SYS_open
	{ SYS_rename, -1, 1, -1 }, { SYS_link, -1, 1, -1 }, { SYS_symlink, -1, 1, -1 }, { SYS_mkdir, -1, 0, -1 }, { SYS_mknod, -1, 0, -1 },
	{ SYS_creat, -1, 0, -1 }, { SYS_open, -1, 0, -1 }, { SYS_unlink, -1, 0, -1 }, { SYS_rmdir, -1, 0, -1 },
#endif
};
enum { CALLS = sizeof calls / sizeof *calls };

static char below[PATH_MAX];
static struct counters *counters;

static void die(const char *what)
{
	fprintf(stderr, "failing: %s: %s\n", what, strerror(errno));
	exit(99);
}

// What an open file is called; empty where it has no name.
static void name_of(char *out, pid_t task, const char *kind, int fd)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof link, fd < 0 ? "/proc/%d/%s" : "/proc/%d/%s/%d", (int)task, kind, fd);
	length = readlink(link, out, PATH_MAX - 1);
	out[length < 0 ? 0 : length] = 0;
}

// A text of the process, which may lie at the end of its memory.
static void text_of(char *out, pid_t task, uint64_t at)
{
	for (size_t length = 0; length < PATH_MAX - 1;) {
		size_t part = 4096 - (at + length) % 4096;
		struct iovec here = { out + length, part < PATH_MAX - 1 - length ? part : PATH_MAX - 1 - length };
		struct iovec there = { (void *)(uintptr_t)(at + length), here.iov_len };
		ssize_t got = process_vm_readv(task, &here, 1, &there, 1, 0);

		out[length + (size_t)(got < 0 ? 0 : got)] = 0;
		if (got <= 0 || memchr(out + length, 0, (size_t)got))
			return;
		length += (size_t)got;
	}
}

static void path_of(char *out, const struct seccomp_notif *asked, const struct call *call)
{
	char name[PATH_MAX] = "", folder[PATH_MAX] = "";
	int fd = call->folder < 0 ? AT_FDCWD : (int)asked->data.args[call->folder];

	if (call->file >= 0) {
		name_of(out, (pid_t)asked->pid, "fd", (int)asked->data.args[call->file]);
		return;
	}
	text_of(name, (pid_t)asked->pid, asked->data.args[call->path]);
	if (*name != '/')
		name_of(folder, (pid_t)asked->pid, fd == AT_FDCWD ? "cwd" : "fd", fd == AT_FDCWD ? -1 : fd);
	snprintf(out, 2 * PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", name);
}

static int is_removal(int number)
{
#ifdef SYS_open
	if (number == SYS_unlink || number == SYS_rmdir)
		return 1;
#endif
	return number == SYS_unlinkat;
}

// The error of a call, or 0.
static int judge(const struct seccomp_notif *asked, pid_t command)
{
	char path[2 * PATH_MAX] = "";
	size_t length = strlen(below);
	int64_t number;

	if (is_removal(asked->data.nr) && !counters->removals)
		return 0;
	for (int i = 0; i < CALLS; i++)
		if (calls[i].number == asked->data.nr)
			path_of(path, asked, &calls[i]);
	if (strncmp(path, below, length) || (path[length] != '/' && path[length]))
		return 0;
	number = ++counters->count;
	if (!counters->at || number < counters->at || number >= counters->at + counters->length)
		return 0;
	snprintf(counters->failed, sizeof counters->failed, "%.4000s", path);
	if (counters->error)
		return (int)counters->error;
	kill(command, SIGKILL);
	return 0;
}

static void answer_all(int listener, pid_t command)
{
	for (;;) {
		struct seccomp_notif asked = { 0 };
		struct seccomp_notif_resp said = { 0 };
		struct pollfd ready = { .fd = listener, .events = POLLIN };

		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			return;
		if (!(ready.revents & POLLIN)) {
			if (ready.revents & (POLLHUP | POLLERR))
				return; // all are gone
			continue;
		}
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			continue;
		said.id = asked.id;
		said.error = -judge(&asked, command);
		said.flags = said.error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
	}
}

static int ask_for_calls(void)
{
	struct sock_filter filter[2 * CALLS + 16];
	struct sock_fprog program = { .filter = filter };
	int n = 0, fd;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < CALLS; i++) {
		int flags = calls[i].number == SYS_openat ? 2 : 0;
#ifdef SYS_open
		flags = calls[i].number == SYS_open ? 1 : flags;
#endif
		// an open only where it may make a file
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, 0, flags ? 4 : 1);
		if (flags) {
			filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8 * flags));
			filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 1, 0);
			filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		}
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (geteuid())
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	// a signal that comes while we are asked must not have the call made twice
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (fd < 0)
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	return fd;
}

static void send_fd(int to, int fd)
{
	char byte = 0, space[CMSG_SPACE(sizeof fd)] = { 0 };
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	*head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) };
	memcpy(CMSG_DATA(head), &fd, sizeof fd);
	if (sendmsg(to, &message, 0) != 1)
		die("the listener");
}

static int take_fd(int from)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	int fd;

	if (recvmsg(from, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	return fd;
}

// Who answers is nobody's child, and holds nothing open that others wait for the end of.
static void begin_answering(int from, pid_t command)
{
	int listener, null = open("/dev/null", O_RDWR);

	if (fork())
		_exit(0);
	setsid();
	for (int fd = 0; fd < 1024; fd++)
		if (fd < 3)
			dup2(null, fd);
		else if (fd != from)
			close(fd);
	listener = take_fd(from);
	close(from);
	if (listener >= 0)
		answer_all(listener, command);
	_exit(0);
}

int main(int argc, char **argv)
{
	int ends[2], fd;
	pid_t command = getpid(), child;

	if (argc < 4 || !realpath(argv[1], below))
		die("FOLDER COUNTERS COMMAND...");
	if ((fd = open(argv[2], O_RDWR | O_CLOEXEC)) < 0)
		die(argv[2]);
	counters = mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (counters == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || (child = fork()) < 0)
		die("begin");
	if (!child)
		begin_answering(ends[0], command);
	close(ends[0]);
	waitpid(child, NULL, 0);
	if ((fd = ask_for_calls()) < 0)
		die("seccomp");
	send_fd(ends[1], fd);
	close(fd);
	close(ends[1]);
	execvp(argv[3], argv + 3);
	die(argv[3]);
}
