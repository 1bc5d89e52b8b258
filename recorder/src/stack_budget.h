/* stack_budget.h: which context switches and wakeups are worth a callchain: so many a second of each place in each thread. */
#ifndef PERFCASE_STACK_BUDGET_H
#define PERFCASE_STACK_BUDGET_H

/* The events that the programs write to, each on each CPU (PERF_COUNT_SW_BPF_OUTPUT, with callchains). The data of a sample
 * of WAIT_STACKS are the time at which the wait began. */
enum stack_output { SWITCH_STACKS, WAKEUP_STACKS, WAIT_STACKS, STACK_OUTPUTS };

struct stack_budget {
	int is_scoped;
	int switches; /* if scoped, for software events of context switches (PERF_EVENT_IOC_SET_BPF), which write nothing themselves */
	int wakeups, returns; /* for the tracepoints of wakeups, and of the ends of system calls */
	int outputs[STACK_OUTPUTS];
};

/* Loads the programs. Returns 0 or an errno: a kernel without BPF, or not permitted. `is_scoped`: only wakers that have
 * switched under the first program count. */
int stack_budget_load(struct stack_budget *budget, int is_scoped);

/* Where callchains of a CPU go. Returns 0 or an errno. */
int stack_budget_add(const struct stack_budget *budget, enum stack_output output, int cpu, int event);

/* From now on switches of the whole host have callchains, until the process ends. Returns 0 or an errno. */
int stack_budget_begin_switches(const struct stack_budget *budget);

/* The same for wakeups, and for system calls that waited long. */
int stack_budget_begin(const struct stack_budget *budget);

#endif
