/* events_open.c: opens the events on each CPU, each CPU's into one ring. */
#define _GNU_SOURCE
#include "events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEAST_RING_BYTES = 32 << 10 };

void raise_file_limit(void)
{
	struct buffer text = { NULL, 0, 0 };
	struct rlimit limit, most;
	int64_t kernel = -1;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (!read_file("/proc/sys/fs/nr_open", &text, 64) && text.length) {
		text.data[strcspn(text.data, "\n")] = 0;
		kernel = parse_integer(text.data);
	}
	free(text.data);
	most = (struct rlimit){ (rlim_t)kernel, (rlim_t)kernel };
	if (kernel > 0 && !setrlimit(RLIMIT_NOFILE, &most))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

size_t list_cpus(int **cpus)
{
	struct buffer text = { NULL, 0, 0 };
	int first, last, used;
	size_t count = 0;

	*cpus = NULL;
	if (read_file("/sys/devices/system/cpu/online", &text, 1 << 16) || !text.length)
		die("/sys/devices/system/cpu/online cannot be read: mount -t sysfs sysfs /sys");
	for (const char *at = text.data; isdigit((unsigned char)*at); at += *at == ',') {
		if (sscanf(at, "%d%n", &first, &used) != 1)
			break;
		at += used;
		last = first;
		if (*at == '-' && sscanf(at, "-%d%n", &last, &used) == 1)
			at += used;
		for (int cpu = first; cpu <= last; cpu++) {
			*cpus = checked_realloc(*cpus, (count + 1) * sizeof **cpus);
			(*cpus)[count++] = cpu;
		}
	}
	free(text.data);
	return count;
}

static struct ring *make_rings(const int *cpus, size_t count)
{
	struct ring *rings = checked_realloc(NULL, count * sizeof *rings);

	for (size_t i = 0; i < count; i++)
		rings[i] = (struct ring){ .cpu = cpus[i] };
	return rings;
}

void refuse_event(const char *name, int error)
{
	struct buffer text = { NULL, 0, 0 };

	if (error == EMFILE || error == ENFILE)
		die("%s: too many threads to record each: raise the limit of open files (ulimit -n), or record the whole host",
		    name);
	if ((error == EACCES || error == EPERM) && geteuid() && !read_file("/proc/sys/kernel/perf_event_paranoid", &text, 64) && text.length)
		die("%s: %s: perf_event_paranoid is %d: run as root, or: sysctl kernel.perf_event_paranoid=-1", name,
		    strerror(error), atoi(text.data));
	die("%s: %s", name, error == ENOENT || error == ENODEV || error == EOPNOTSUPP ? "not on this machine" : strerror(error));
}

/* Maps the ring of a CPU at its first counter; smaller where this user may not lock so much memory. */
static void map_ring(struct ring *ring, int file, size_t bytes, int is_overwritten)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	while ((at = mmap(NULL, page_bytes + bytes, PROT_READ | (is_overwritten ? 0 : PROT_WRITE), MAP_SHARED, file, 0)) == MAP_FAILED) {
		if ((errno != EPERM && errno != ENOMEM) || bytes <= LEAST_RING_BYTES)
			die("a buffer of %zu KB a CPU: %s: see kernel.perf_event_mlock_kb and ulimit -l", bytes >> 10, strerror(errno));
		bytes /= 2;
	}
	ring->page = at;
	ring->data = (char *)at + page_bytes;
	ring->bytes = bytes;
}

/* 0; or the errno where the thread has ended, or the CPU is off. */
static int open_one(struct events *events, struct perf_event *event, pid_t target, size_t cpu, size_t ring_bytes,
		    unsigned long flags)
{
	int is_side = (size_t)(event - events->list) < events->tracking;
	struct ring *ring = is_side ? &events->side[cpu] : &events->rings[cpu];
	uint64_t id;
	int file;

	event->attr.watermark = 1;
	event->attr.wakeup_watermark = (uint32_t)(ring_bytes / 4);
	file = (int)syscall(SYS_perf_event_open, &event->attr, target, ring->cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
	if (file < 0 && (errno == ESRCH || (errno == ENODEV && ring->cpu)))
		return errno;
	if (file < 0)
		refuse_event(event->name, errno);
	if (!ring->page)
		map_ring(ring, file, ring_bytes, event->attr.write_backward);
	else if (ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, ring->files[0]))
		die("%s: one buffer a CPU: %s", event->name, strerror(errno));
	if (ioctl(file, PERF_EVENT_IOC_ID, &id))
		die("%s: its number: %s", event->name, strerror(errno));
	ring->files = checked_realloc(ring->files, (ring->count + 1) * sizeof *ring->files);
	ring->files[ring->count++] = file;
	event->ids = checked_realloc(event->ids, (event->count + 1) * sizeof *event->ids);
	event->files = checked_realloc(event->files, (event->count + 1) * sizeof *event->files);
	event->ids[event->count] = id;
	event->files[event->count++] = file;
	return 0;
}

/* Returns whether it was there. */
static int open_target(struct events *events, pid_t target, unsigned long flags, size_t ring_bytes, size_t side_bytes)
{
	if (stop_requested)
		die("stopped before all events were opened");
	for (size_t cpu = 0; cpu < events->cpu_count; cpu++)
		for (size_t i = 0; i < events->count; i++)
			if (open_one(events, &events->list[i], target, cpu, i < events->tracking ? side_bytes : ring_bytes, flags) == ESRCH)
				return 0;
	return 1;
}

/* All threads of a process. What they start belongs to them. Returns how many were there. */
static int open_process(struct events *events, pid_t pid, size_t ring_bytes, size_t side_bytes)
{
	char path[64];
	struct dirent *item;
	DIR *tasks = opendir(format_path(path, sizeof path, "/proc/%d/task", (int)pid));
	int opened = 0;

	while (tasks && (item = readdir(tasks)))
		if (isdigit((unsigned char)item->d_name[0]))
			opened += open_target(events, atoi(item->d_name), 0, ring_bytes, side_bytes);
	if (tasks)
		closedir(tasks);
	return opened;
}

void events_open(struct events *events, size_t ring_bytes, size_t side_bytes)
{
	struct targets *targets = &events->targets;
	int group, *cpus, opened = 0;

	raise_file_limit();
	events->cpu_count = list_cpus(&cpus);
	events->rings = make_rings(cpus, events->cpu_count);
	if (events->tracking)
		events->side = make_rings(cpus, events->cpu_count);
	free(cpus);
	targets_refresh(targets);
	if (targets->is_everything) {
		open_target(events, -1, 0, ring_bytes, side_bytes);
	} else if (targets->cgroup) {
		if ((group = open(targets->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
			die("%s: %s", targets->cgroup, strerror(errno));
		open_target(events, group, PERF_FLAG_PID_CGROUP, ring_bytes, side_bytes);
		close(group);
	} else {
		for (size_t i = 0; i < targets->count; i++)
			if (targets->processes[i].is_target)
				opened += open_process(events, targets->processes[i].pid, ring_bytes, side_bytes);
		if (!opened)
			die("there is none of these processes any more");
	}
}

void events_track(struct events *events)
{
	for (size_t i = 0; i < events->list[0].count; i++)
		ioctl(events->list[0].files[i], PERF_EVENT_IOC_ENABLE, 0);
	targets_refresh(&events->targets); /* what began since the events were opened, unseen */
}

void events_switch(int is_on)
{
	/* all that this process has opened, at once */
	if (prctl(is_on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE))
		die("the events cannot be switched %s: %s", is_on ? "on" : "off", strerror(errno));
}
