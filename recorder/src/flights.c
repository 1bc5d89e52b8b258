/* flights.c: the flights that run on this host. FOLDER/flight-PID says which process it is, and is locked as long as that lives;
 * FOLDER/flight-PID.state says what it is doing. The folder is its user's alone. */
#define _GNU_SOURCE
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

struct flight {
	pid_t pid;
	long long start_ticks;
	char *path, *output;
};

/* What it is doing, how many captures it wrote, and the name of the last. */
struct state {
	char doing[16];
	long captures;
	char *last;
};

static long long start_ticks(pid_t pid)
{
	struct buffer text = { NULL, 0, 0 };
	char path[64];
	long long ticks = -1;

	if (read_file(format_path(path, sizeof path, "/proc/%d/stat", (int)pid), &text, 4096) || !text.length ||
	    proc_stat_field(text.data, 22, &ticks))
		ticks = -1;
	free(text.data);
	return ticks;
}

/* announce FILE PID OUTPUT: writes down that this process is a flight. */
int command_announce(int argc, char **argv)
{
	FILE *file;
	int fd;

	if (argc != 4)
		die("usage: announce FILE PID OUTPUT");
	fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || !(file = fdopen(fd, "w")))
		die("%s: %s", argv[1], strerror(errno));
	fprintf(file, "%s %lld\n%s", argv[2], start_ticks(atoi(argv[2])), argv[3]);
	return fclose(file) ? 1 : 0;
}

/* Whether a file says of a process that it is a flight, and that lives. One that was left behind goes. */
static int read_flight(const char *path, struct flight *flight)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), end = 0, pid = 0;
	struct buffer text = { NULL, 0, 0 };
	char state[PATH_SIZE];
	struct stat info;
	int is_one = 0;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 077)) {
		if (!flock(fd, LOCK_SH | LOCK_NB)) {
			unlink(path);
			unlink(format_path(state, sizeof state, "%s.state", path));
		} else if (!read_file(path, &text, PATH_SIZE * 2) && text.length &&
			   sscanf(text.data, "%d %lld\n%n", &pid, &flight->start_ticks, &end) == 2 && end) {
			flight->pid = pid;
			flight->path = checked_strdup(path);
			flight->output = checked_strdup(text.data + end);
			/* another process may have its number by now */
			is_one = pid > 1 && start_ticks(pid) == flight->start_ticks;
		}
	}
	free(text.data);
	close(fd);
	return is_one;
}

static size_t list_flights(const char *folder, struct flight **list)
{
	int place = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *item;
	char path[PATH_SIZE];
	struct stat info;
	size_t count = 0;
	DIR *dir;

	if (place < 0 && errno == ENOENT)
		return 0;
	if (place < 0 || fstat(place, &info) || info.st_uid != geteuid() || info.st_mode & 022)
		die("%s is not a folder of this user's alone", folder);
	dir = fdopendir(place);
	while (dir && (item = readdir(dir))) {
		struct flight flight;
		int end = 0;

		if (sscanf(item->d_name, "flight-%*d%n", &end) == EOF || !end || item->d_name[end] ||
		    !read_flight(format_path(path, sizeof path, "%s/%s", folder, item->d_name), &flight))
			continue;
		*list = checked_realloc(*list, (count + 1) * sizeof flight);
		(*list)[count++] = flight;
	}
	if (dir)
		closedir(dir);
	return count;
}

static int read_state(const struct flight *flight, struct state *state)
{
	static struct buffer text;
	char path[PATH_SIZE];
	int end = 0;

	format_path(path, sizeof path, "%s.state", flight->path);
	if (read_file(path, &text, PATH_SIZE * 2) || !text.length ||
	    sscanf(text.data, "%15s %ld%*[^\n]%n", state->doing, &state->captures, &end) != 2)
		return -1;
	state->last = strchr(text.data, '\n');
	state->last = state->last ? state->last + 1 : text.data + text.length;
	return 0;
}

/* Whether a flight is the one that is meant: its process, or the name that its captures begin with. */
static int is_meant(const struct flight *flight, const char *which)
{
	char path[PATH_SIZE], here[PATH_SIZE];
	size_t length = strlen(which);

	if (*which && strspn(which, "0123456789") == length)
		return atoi(which) == flight->pid;
	if (length > 9 && !strcmp(which + length - 9, ".perfcase"))
		length -= 9;
	if (!strncmp(which, "./", 2))
		which += 2, length -= 2;
	if (*which == '/')
		format_path(path, sizeof path, "%.*s", (int)length, which);
	else
		format_path(path, sizeof path, "%s/%.*s", getcwd(here, sizeof here) ? here : "", (int)length, which);
	return !strcmp(path, flight->output);
}

static const struct flight *choose(const struct flight *list, size_t count, const char *which)
{
	const struct flight *chosen = NULL;
	size_t meant = 0;

	for (size_t i = 0; i < count; i++)
		if (!which || is_meant(&list[i], which)) {
			chosen = &list[i];
			meant++;
		}
	if (!count)
		die("no flight of this user is running: perfcase-record --flight 60s begins one");
	if (meant == 1)
		return chosen;
	warn("%s; these run (--dump PID or --dump FILE chooses one):", meant ? "several flights run" : "no such flight runs");
	for (size_t i = 0; i < count; i++)
		warn("%d %s", (int)list[i].pid, list[i].output);
	exit(2);
}

/* The signal goes to the process that was looked at, or to none. */
static int ask(const struct flight *flight)
{
	int process = (int)syscall(SYS_pidfd_open, flight->pid, 0), failed;

	if (process < 0 && errno == ENOSYS)
		return kill(flight->pid, SIGUSR1);
	failed = process < 0 || start_ticks(flight->pid) != flight->start_ticks ||
		 syscall(SYS_pidfd_send_signal, process, SIGUSR1, NULL, 0);
	if (process >= 0)
		close(process);
	return failed;
}

/* dump FOLDER [WHICH]: has a flight write its capture, and prints the name. Exit 2: which one is not clear. */
int command_dump(int argc, char **argv)
{
	struct flight *list = NULL;
	const struct flight *flight;
	struct state before, now;
	size_t count;

	if (argc != 2 && argc != 3)
		die("usage: dump FOLDER [WHICH]");
	count = list_flights(argv[1], &list);
	flight = choose(list, count, argc == 3 ? argv[2] : NULL);
	catch_stop_signals();
	if (read_state(flight, &before) || !strcmp(before.doing, "starting"))
		die("flight %d is only beginning: try again in a few seconds", (int)flight->pid);
	if (!strcmp(before.doing, "recording") && ask(flight))
		die("flight %d: %s", (int)flight->pid, strerror(errno));
	while (!stop_requested) {
		if (!read_state(flight, &now) && now.captures > before.captures) {
			printf("%s", now.last);
			return 0;
		}
		if (start_ticks(flight->pid) != flight->start_ticks)
			die("flight %d ended, and said why on its standard error", (int)flight->pid);
		sleep_ns(100000000);
	}
	return 1;
}
