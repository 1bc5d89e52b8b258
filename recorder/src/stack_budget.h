/* stack_budget.h: which context switches and wakeups are worth a callchain: so many a second of each place in each thread. */
#ifndef PERFCASE_STACK_BUDGET_H
#define PERFCASE_STACK_BUDGET_H

/* Two programs and, for each CPU, the two events that they write to (PERF_COUNT_SW_BPF_OUTPUT, with callchains). */
struct stack_budget {
	int switches; /* for software events of context switches (PERF_EVENT_IOC_SET_BPF): these write nothing themselves */
	int switch_stacks;
	int wakeups; /* for the tracepoints of wakeups */
	int wakeup_stacks;
};

/* Loads the programs. Returns 0 or an errno: a kernel without BPF, or not permitted. `is_scoped`: only wakers that have
 * switched under the first program count. */
int stack_budget_load(struct stack_budget *budget, int is_scoped);

/* Where the callchains of a CPU go. Returns 0 or an errno. */
int stack_budget_add_cpu(const struct stack_budget *budget, int cpu, int switch_event, int wakeup_event);

/* From now on wakeups have callchains, until the process ends. Returns 0 or an errno. */
int stack_budget_begin(const struct stack_budget *budget);

#endif
