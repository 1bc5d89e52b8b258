/* events_choose.c: the settings of the events: those that perf has for the same, as far as this kernel knows them. */
#define _GNU_SOURCE
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SAMPLE_HZ = 99, STACK_BYTES = 8192 };

/* What perf takes of the registers to unwind by: all but the segments; all. */
#if defined(__x86_64__)
#define USER_REGISTERS 0xff0fffull
#else
#define USER_REGISTERS ((1ull << 33) - 1)
#endif

static uint64_t sample_hz(void)
{
	struct buffer text = { NULL, 0, 0 };
	int64_t most = -1;

	if (!read_file("/proc/sys/kernel/perf_event_max_sample_rate", &text, 64) && text.length) {
		text.data[strcspn(text.data, "\n")] = 0;
		most = parse_integer(text.data);
	}
	free(text.data);
	return most > 0 && most < SAMPLE_HZ ? (uint64_t)most : SAMPLE_HZ;
}

struct perf_event *events_add(struct events *events, const char *name, uint32_t type, uint64_t config)
{
	struct perf_event *event = &events->list[events->count++];

	*event = (struct perf_event){
		.attr = {
			.type = type,
			.size = sizeof event->attr,
			.config = config,
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
				       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER,
			.read_format = PERF_FORMAT_ID,
			.disabled = 1,
			.inherit = 1,
			.sample_id_all = 1,
			.exclude_guest = 1,
			.use_clockid = 1,
			.clockid = CLOCK_MONOTONIC,
		},
		.name = checked_strdup(name),
	};
	return event;
}

/* Makes an event tell of threads and mappings too. */
static void track(struct perf_event_attr *attr)
{
	attr->mmap = attr->mmap2 = attr->build_id = attr->comm = attr->comm_exec = attr->task = 1;
	/* perf unwinds by the tables in what is mapped beside the code */
	attr->mmap_data = !!(attr->sample_type & PERF_SAMPLE_STACK_USER);
}

static void add_sampler(struct events *events, const char *name)
{
	const char *modifier = strchr(name, ':');
	size_t length = modifier ? (size_t)(modifier - name) : strlen(name);
	int is_cycles = length == 6 && !strncmp(name, "cycles", length);
	struct perf_event *event;

	if ((!is_cycles && (length != 9 || strncmp(name, "cpu-clock", length))) || (modifier && strcmp(modifier, ":u")))
		die("%s: there are cycles, cpu-clock, cycles:u and cpu-clock:u", name);
	event = is_cycles ? events_add(events, name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) :
			    events_add(events, name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	event->attr.freq = 1;
	event->attr.sample_freq = sample_hz();
	if (modifier) {
		event->attr.exclude_kernel = event->attr.exclude_hv = 1;
		event->attr.exclude_guest = 0; /* as perf reads a modifier */
	}
}

static void add_tracepoints(struct events *events, const char *list)
{
	struct buffer text = { NULL, 0, 0 };
	int error = read_file(list, &text, 1 << 20);

	if (error)
		die("%s: %s", list, strerror(error));
	for (char *name = text.length ? strtok(text.data, "\n") : NULL; name; name = strtok(NULL, "\n")) {
		int64_t number = tracepoint_number(name);
		struct perf_event *event;

		if (number < 0)
			die("%s: the kernel has no such tracepoint, or tracefs is not ours to read", name);
		if (events->count == EVENTS_MOST - 1)
			die("%s: more than %d events", list, EVENTS_MOST - 1);
		event = events_add(events, name, PERF_TYPE_TRACEPOINT, (uint64_t)number);
		event->attr.sample_period = 1;
		event->attr.sample_type |= PERF_SAMPLE_RAW;
	}
	free(text.data);
}

/* Stacks are copied, to be unwound where the file is read; the kernel's part of them is a chain as before. */
void events_choose_stacks(struct events *events, const char *stacks)
{
	int64_t bytes = STACK_BYTES;

	if (!strcmp(stacks, "fp"))
		return;
	if (strcmp(stacks, "dwarf") && (strncmp(stacks, "dwarf,", 6) || (bytes = parse_integer(stacks + 6)) < 8 || bytes > 65528))
		die("%s: callers are found by fp, dwarf or dwarf,BYTES", stacks);
	for (size_t i = 0; i < events->count; i++) {
		struct perf_event_attr *attr = &events->list[i].attr;

		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = USER_REGISTERS;
		attr->sample_stack_user = (uint32_t)bytes / 8 * 8;
		attr->exclude_callchain_user = 1;
	}
}

/* Tries the settings that newer kernels have on this thread, and does without those that this one refuses. */
static void adapt(struct events *events)
{
	struct perf_event_attr *attr = &events->list[0].attr;

	for (int i = 0; i < 2; i++) {
		int file = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

		if (file >= 0)
			close(file);
		if (file >= 0 || errno != EINVAL)
			return;
		attr->build_id = 0; /* Linux 5.12 */
	}
}

void events_choose(struct events *events, const char *sampler, const char *stacks, const char *tracepoints)
{
	if (strcmp(sampler, "-"))
		add_sampler(events, sampler);
	add_tracepoints(events, tracepoints);
	if (!events->count)
		die("no event was asked for");
	events_choose_stacks(events, stacks);
	track(&events->list[0].attr);
	adapt(events);
}

void events_make_overwrite(struct events *events)
{
	struct perf_event_attr *sampler = &events->list[0].attr, *dummy;

	for (size_t i = 0; i < events->count; i++)
		events->list[i].attr.write_backward = 1;
	dummy = &events_add(events, "dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY)->attr;
	dummy->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	track(dummy);
	dummy->build_id = sampler->build_id;
	dummy->mmap_data = sampler->mmap_data;
	sampler->mmap_data = sampler->mmap = sampler->mmap2 = sampler->build_id = sampler->comm = sampler->comm_exec = sampler->task = 0;
	/* the first is the one that tells of threads and mappings */
	struct perf_event last = events->list[events->count - 1];

	memmove(events->list + 1, events->list, (events->count - 1) * sizeof last);
	events->list[0] = last;
	events->tracking = 1;
}
