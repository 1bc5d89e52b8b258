/* stacks.c: callchains of context switches and wakeups, as many as are worth their cost (stack_budget.h).
 *
 * stacks OUT SCOPE KB STACKS READYFILE: KB a CPU for the rings; until a signal. SCOPE and STACKS as `events` has them.
 * stacks try: whether the kernel would take the programs. */
#define _GNU_SOURCE
#include "events.h"
#include "stack_budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { LEAST_BYTES = 32 << 10 };

static void load(struct stack_budget *budget, int is_scoped)
{
	int error = stack_budget_load(budget, is_scoped);

	if (error)
		die("the kernel takes no BPF programs here: %s", strerror(error));
}

/* Nothing but what a program writes to it, on every CPU: the program sees the recorded threads only. */
static void open_outputs(struct events *outputs, const char *stacks, size_t ring_bytes)
{
	static const char *const names[] = { "switch-stacks", "wakeup-stacks", "wait-stacks" };

	for (int i = 0; i < STACK_OUTPUTS; i++) {
		struct perf_event *event = events_add(outputs, names[i], PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT);

		event->attr.sample_period = 1;
		event->attr.sample_type |= PERF_SAMPLE_RAW;
		event->attr.inherit = 0;
		event->attr.exclude_callchain_kernel = i == WAIT_STACKS; /* it would be that of the call's end */
	}
	events_choose_stacks(outputs, stacks);
	targets_choose(&outputs->targets, checked_strdup("all"));
	events_open(outputs, ring_bytes, 0);
}

/* The switches of the recorded threads: they run the program, and are not recorded themselves. */
static void open_switches(struct events *switches, int program)
{
	struct perf_event *event = events_add(switches, "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);

	event->attr.sample_period = 1;
	event->attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	events_open(switches, LEAST_BYTES, 0);
	for (size_t cpu = 0; cpu < switches->cpu_count; cpu++)
		for (size_t i = 0; i < switches->rings[cpu].count; i++)
			if (ioctl(switches->rings[cpu].files[i], PERF_EVENT_IOC_SET_BPF, program))
				die("context switches of CPU %d: %s", switches->rings[cpu].cpu, strerror(errno));
}

int command_stacks(int argc, char **argv)
{
	struct events outputs = { .count = 0 }, switches = { .count = 0 };
	struct stack_budget budget;
	int64_t size;
	int error;

	if (argc == 2 && !strcmp(argv[1], "try")) {
		load(&budget, 0);
		return 0;
	}
	if (argc != 6 || (size = parse_integer(argv[3])) <= 0 || size > 1 << 24)
		die("usage: stacks OUT SCOPE KB STACKS READYFILE | stacks try");
	catch_stop_signals();
	targets_choose(&switches.targets, checked_strdup(argv[2]));
	load(&budget, !switches.targets.is_everything);
	open_outputs(&outputs, argv[4], ring_size(size << 10));
	for (size_t cpu = 0; cpu < outputs.cpu_count; cpu++)
		for (int i = 0; i < STACK_OUTPUTS; i++)
			if ((error = stack_budget_add(&budget, i, outputs.rings[cpu].cpu, outputs.rings[cpu].files[i])))
				die("CPU %d: %s", outputs.rings[cpu].cpu, strerror(error));
	if (budget.is_scoped)
		open_switches(&switches, budget.switches);
	else if ((error = stack_budget_begin_switches(&budget)))
		die("context switches: %s", strerror(error));
	if ((error = stack_budget_begin(&budget)))
		warn("some wakeups and waits have no callchains: %s", strerror(error));
	return events_stream(&outputs, argv[1], argv[5], argv);
}
