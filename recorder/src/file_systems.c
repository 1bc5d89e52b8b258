/* file_systems.c: how full the file systems are that the recorder sees mounted. Only those that the kernel answers for by itself are
 * asked: a server, or a program (FUSE), may be gone, and autofs would mount something. A block device may hang, too: so a child asks,
 * which has a second for all of them. It is killed then, and not waited for. */
#define _GNU_SOURCE
#include "file_systems.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_ASKED = 128,
	MOST_MOUNTS = 4096, /* looked at */
	LIST_LIMIT = 4 << 20, /* bytes of the list of mounts */
	ANSWERS_LIMIT = 1 << 20,
	LINE_MOST = 2048,
	WAIT_MS = 1000,
};

struct mount {
	long id, parent;
	char *number, *folder, *type, *device;
};

struct mounts {
	struct mount *all;
	size_t count;
	size_t asked[MOST_ASKED];
	size_t asked_count, foreign_count, surplus_count;
};

/* What has no size of its own, or one that nobody can fill. The way to others may lead through it. */
static const char *const WITHOUT_SIZE[] = { "binfmt_misc", "bpf",    "cgroup", "cgroup2",  "configfs", "cpuset",  "cramfs",	 "debugfs",
					    "devpts",	   "devtmpfs", "efivarfs", "erofs", "fusectl",  "hugetlbfs", "iso9660", "mqueue",
					    "nfsd",	   "nsfs",   "proc",   "pstore",   "ramfs",	"resctrl", "romfs",	 "rootfs",
					    "rpc_pipefs",  "securityfs", "selinuxfs", "squashfs", "sysfs", "tracefs" };

static int is_without_size(const char *type)
{
	for (size_t i = 0; i < sizeof WITHOUT_SIZE / sizeof *WITHOUT_SIZE; i++)
		if (!strcmp(type, WITHOUT_SIZE[i]))
			return 1;
	return 0;
}

static int is_of_the_host(const struct mount *mount)
{
	if (!strcmp(mount->type, "tmpfs") || !strcmp(mount->type, "overlay"))
		return 1;
	return !strncmp(mount->device, "/dev/", 5) && strncmp(mount->type, "fuse", 4);
}

/* Takes a line of /proc/self/mountinfo apart: ID PARENT NUMBER ROOT FOLDER OPTIONS TAG... - TYPE DEVICE OPTIONS. */
static int parse_mount(char *line, struct mount *mount)
{
	char *behind = strstr(line, " - "), *id, *parent, *rest;

	if (!behind)
		return 0;
	*behind = 0;
	id = strtok_r(line, " ", &rest);
	parent = strtok_r(NULL, " ", &rest);
	mount->number = strtok_r(NULL, " ", &rest);
	strtok_r(NULL, " ", &rest);
	mount->folder = strtok_r(NULL, " ", &rest);
	mount->type = strtok_r(behind + 3, " ", &rest);
	mount->device = strtok_r(NULL, " ", &rest);
	if (!mount->folder || !mount->device)
		return 0;
	mount->id = atol(id);
	mount->parent = atol(parent);
	return 1;
}

static const struct mount *mount_of(const struct mounts *mounts, long id)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->all[i].id == id)
			return &mounts->all[i];
	return NULL;
}

/* Whether a folder is another one, or lies above it. */
static int is_above(const char *folder, const char *other)
{
	size_t length = strlen(folder);

	if (length == 1)
		return 1;
	return !strncmp(folder, other, length) && (!other[length] || other[length] == '/');
}

enum way { FOREIGN, HIDDEN, OPEN };

/* What its path leads through: only what the kernel answers for by itself; something else; or another mount that hides it. */
static enum way way_to(const struct mounts *mounts, const struct mount *mount)
{
	size_t above = 0;
	const struct mount *on = mount;

	for (int depth = 0; on && depth < 64; depth++) {
		if (!is_of_the_host(on) && !is_without_size(on->type))
			return FOREIGN;
		above++;
		on = on->parent == on->id ? NULL : mount_of(mounts, on->parent);
	}
	for (size_t i = 0; i < mounts->count; i++)
		if (is_above(mounts->all[i].folder, mount->folder) && above-- == 0)
			return HIDDEN;
	return OPEN;
}

/* A folder of a file system may be mounted elsewhere, too. */
static int is_asked_already(const struct mounts *mounts, const struct mount *mount)
{
	for (size_t i = 0; i < mounts->asked_count; i++)
		if (!strcmp(mounts->all[mounts->asked[i]].number, mount->number))
			return 1;
	return 0;
}

static void choose(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->all[i];
		enum way way;

		/* autofs is a place for others */
		if (is_without_size(mount->type) || !strcmp(mount->type, "autofs") || is_asked_already(mounts, mount))
			continue;
		if (mounts->asked_count == MOST_ASKED) {
			mounts->surplus_count++;
			continue;
		}
		way = way_to(mounts, mount);
		if (way == OPEN)
			mounts->asked[mounts->asked_count++] = i;
		mounts->foreign_count += way == FOREIGN;
	}
}

/* The kernel writes a space, a tab, a line end, a backslash and # as three octal digits. */
static void unescape(char *path)
{
	char *out = path;

	for (; *path; path++) {
		if (*path == '\\' && strspn(path + 1, "01234567") >= 3) {
			*out++ = (char)((path[1] - '0') * 64 + (path[2] - '0') * 8 + path[3] - '0');
			path += 3;
		} else {
			*out++ = *path;
		}
	}
	*out = 0;
}

/* A line for each at once: what is known stays known. */
static void ask(const struct mount *mount, int out)
{
	char line[LINE_MOST], path[LINE_MOST];
	struct statfs found;
	int length;

	if (strlen(mount->folder) >= sizeof path)
		return;
	unescape(strcpy(path, mount->folder));
	if (statfs(path, &found))
		return;
	length = snprintf(line, sizeof line, "%s %s %llu %llu %llu %llu %llu %llu %s %s\n", mount->type,
			  found.f_flags & ST_RDONLY ? "ro" : "rw",
			  (unsigned long long)(found.f_frsize ? found.f_frsize : found.f_bsize),
			  (unsigned long long)found.f_blocks, (unsigned long long)found.f_bfree, (unsigned long long)found.f_bavail,
			  (unsigned long long)found.f_files, (unsigned long long)found.f_ffree, mount->device, mount->folder);
	if (length > 0 && length < (int)sizeof line)
		write_all(out, line, (size_t)length);
}

/* Nothing of the recorder's stays open in a child that perhaps cannot be killed. */
static void let_go(void)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct rlimit most = { 1024, 1024 };
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGINT, &standard, NULL);
	sigaction(SIGTERM, &standard, NULL);
	sigaction(SIGHUP, &standard, NULL);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 4, ~0U, 0))
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &most);
	for (rlim_t fd = 4; fd < most.rlim_cur && fd < 1 << 20; fd++)
		close((int)fd);
}

/* The child: how many are to be asked and were left out, then what each says. */
static void answer(int out)
{
	struct mounts mounts = { .all = NULL };
	struct buffer list = { NULL, 0, 0 };
	char head[128];

	dup2(out, 3);
	let_go();
	if (read_file("/proc/self/mountinfo", &list, LIST_LIMIT) || !list.data)
		_exit(1);
	mounts.all = checked_realloc(NULL, MOST_MOUNTS * sizeof *mounts.all);
	for (char *rest = list.data, *line; (line = strsep(&rest, "\n"));) {
		if (mounts.count == MOST_MOUNTS)
			mounts.surplus_count += *line != 0;
		else
			mounts.count += (size_t)parse_mount(line, &mounts.all[mounts.count]);
	}
	choose(&mounts);
	snprintf(head, sizeof head, "%zu %zu %zu\n", mounts.asked_count, mounts.foreign_count, mounts.surplus_count);
	write_all(3, head, strlen(head));
	for (size_t i = 0; i < mounts.asked_count; i++)
		ask(&mounts.all[mounts.asked[i]], 3);
	_exit(0);
}

/* Reads what the child says. Whether it has said all in its time. */
static int listen_to(int in, struct buffer *text)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + WAIT_MS * (int64_t)1000000;
	char part[4096 + 1];

	while (text->length < ANSWERS_LIMIT) {
		int64_t left_ms = (end - clock_ns(CLOCK_MONOTONIC)) / 1000000;
		struct pollfd ready = { .fd = in, .events = POLLIN };
		ssize_t got;

		if (left_ms <= 0)
			return 0;
		if (poll(&ready, 1, (int)left_ms) <= 0)
			continue;
		got = read(in, part, sizeof part - 1);
		if (got == 0)
			return 1;
		if (got < 0)
			continue;
		part[got] = 0;
		buffer_add(text, part);
	}
	return 0;
}

/* Takes the first line off, which says how many there are. */
static void count_answers(struct file_systems *left_out, struct buffer *text)
{
	char *end = text->length ? memchr(text->data, '\n', text->length) : NULL;
	size_t asked = 0, said = 0, head = end ? (size_t)(end - text->data) + 1 : text->length;

	left_out->foreign_count = left_out->surplus_count = left_out->silent_count = 0;
	if (end && sscanf(text->data, "%zu %zu %zu", &asked, &left_out->foreign_count, &left_out->surplus_count) != 3)
		asked = 0;
	text->length -= head;
	if (text->length)
		memmove(text->data, text->data + head, text->length);
	for (size_t i = 0; i < text->length; i++)
		said += text->data[i] == '\n';
	left_out->silent_count = asked > said ? asked - said : 0;
}

int file_systems_ask(struct file_systems *left_out, struct buffer *text)
{
	int ends[2], is_complete, error;
	pid_t child;

	text->length = 0;
	if (left_out->is_silent)
		return ETIMEDOUT;
	if (pipe2(ends, O_CLOEXEC))
		return errno;
	child = fork();
	if (!child)
		answer(ends[1]);
	error = errno;
	close(ends[1]);
	is_complete = child > 0 && listen_to(ends[0], text);
	close(ends[0]);
	if (child < 0)
		return error;
	if (!is_complete)
		kill(child, SIGKILL);
	waitpid(child, NULL, is_complete ? 0 : WNOHANG);
	left_out->is_silent = !is_complete;
	count_answers(left_out, text);
	return is_complete ? 0 : ETIMEDOUT;
}
