/* stack_budget.c: BPF programs that decide which context switches and wakeups get a callchain.
 *
 * A callchain takes some 10 us, twenty times what ftrace takes for a switch, and a thread that waits 100,000 times a second waits
 * at the same few places. A place is where the thread left user space: instruction and stack pointer. Each place of a
 * thread has PLACE_HZ callchains a second, and so have the wakeups of each thread; a rare wait of a busy thread has its own, as it is
 * at another place. Each CPU has CPU_HZ of each kind, so a host of many threads pays no more than a few hundredths of its time. Where
 * a wait in a system call had none and took LONG_NS, the call's end has it: only the part in user space, with the time at
 * which the wait began.
 *
 * The rate is held by the generic cell rate algorithm (ITU-T I.371): one number for each place, the time at which the next
 * callchain would be on time.
 *
 * Places and threads lie in arrays, at a hash of what they are: a look-up in an array is a few instructions, in a hash table it
 * takes as long as an event of ftrace. Two that fall on one slot share its budget. */
#define _GNU_SOURCE
#include "stack_budget.h"

#include "events.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND_NS 1000000000
enum {
	PLACE_HZ = 200,
	CPU_HZ = 1000,
	LONG_NS = SECOND_NS / 1000,
	BURST_NS = SECOND_NS / 2, /* what was not used of this time may be used at once */
	SLOT_BITS = 16,
	CPUS = 1 << 12,
	MOST = 160,
};

/* Large odd numbers that spread what they are multiplied with over the upper bits. */
enum { SPREAD_IP = 0x61c88647, SPREAD_SP = 0x3c6ef373, SPREAD_THREAD = 0x5851f42d };

/* When the next callchain would be on time: all that lies at a place's slot, and at a CPU's. */
struct cpu_slot {
	int64_t switch_due_ns, wakeup_due_ns;
};

struct thread_slot {
	int64_t switch_due_ns, wakeup_due_ns;
	uint64_t thread; /* the last of this slot that switched */
	int64_t wait_ns; /* when the wait began that has no callchain; 0: none */
	uint64_t waiting, ip, sp; /* who waits, and where */
};

/* What a program keeps on its stack. */
enum { THREAD = -8, INDEX = -16, SLOT = -24, WAIT = -32 };

/* Where struct pt_regs has the instruction pointer and the stack pointer: arch/ARCH/include/uapi/asm/ptrace.h. */
#if defined(__x86_64__)
enum { REGS_IP = 128, REGS_SP = 152 };
#elif defined(__aarch64__)
enum { REGS_IP = 256, REGS_SP = 248 };
#else
enum { REGS_IP = -1, REGS_SP = -1 };
#endif

struct maps {
	int cpus, places, threads;
};

struct program {
	struct bpf_insn code[MOST];
	int length;
	int rejects[8]; /* jumps to where 0 is returned */
	int reject_count;
};

static struct bpf_insn *emit(struct program *program, int code, int to, int from, int offset, int value)
{
	struct bpf_insn *insn = &program->code[program->length++];

	*insn = (struct bpf_insn){ .code = (__u8)code, .dst_reg = to, .src_reg = from, .off = (__s16)offset, .imm = value };
	return insn;
}

static void copy(struct program *program, int to, int from)
{
	emit(program, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void set(struct program *program, int to, int value)
{
	emit(program, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

static void add(struct program *program, int to, int value)
{
	emit(program, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}

static void call(struct program *program, int function)
{
	emit(program, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

static void load_map(struct program *program, int to, int map)
{
	emit(program, BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map);
	emit(program, 0, 0, 0, 0, 0);
}

static void load(struct program *program, int to, int from, int offset)
{
	emit(program, BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0);
}

static void save(struct program *program, int to, int offset, int from)
{
	emit(program, BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0);
}

static void store(struct program *program, int offset, int from)
{
	save(program, BPF_REG_10, offset, from);
}

static void emit_multiply(struct program *program, int to, int by)
{
	emit(program, BPF_ALU64 | BPF_MUL | BPF_K, to, 0, 0, by);
}

static void jump_to_reject(struct program *program, int code, int left, int right)
{
	program->rejects[program->reject_count++] = program->length;
	emit(program, code, left, right, 0, 0);
}

static void jump_here(struct program *program, int from)
{
	program->code[from].off = (__s16)(program->length - from - 1);
}

/* r6: what the program was called with; THREAD and r0: the thread. */
static void emit_start(struct program *program)
{
	copy(program, BPF_REG_6, BPF_REG_1);
	call(program, BPF_FUNC_get_current_pid_tgid);
	emit(program, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_0, 0, 0, 32);
	emit(program, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 0, 32);
	store(program, THREAD, BPF_REG_0);
}

/* r7: the time. */
static void emit_time(struct program *program)
{
	call(program, BPF_FUNC_ktime_get_ns);
	copy(program, BPF_REG_7, BPF_REG_0);
}

/* r0: the slot at the index of r1. The kernel asks for the comparison with 0, which an index within the array is never found with. */
static void emit_slot(struct program *program, int map)
{
	emit(program, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_1, INDEX, 0);
	load_map(program, BPF_REG_1, map);
	copy(program, BPF_REG_2, BPF_REG_10);
	add(program, BPF_REG_2, INDEX);
	call(program, BPF_FUNC_map_lookup_elem);
	emit(program, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 2, 0);
	set(program, BPF_REG_0, 0);
	emit(program, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* r0: the thread's slot. */
static void emit_thread(struct program *program, int threads)
{
	load(program, BPF_REG_1, BPF_REG_10, THREAD);
	emit(program, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, (1 << SLOT_BITS) - 1);
	emit_slot(program, threads);
}

/* r0: the CPU's slot. */
static void emit_cpu(struct program *program, int cpus)
{
	set(program, BPF_REG_1, 0);
	emit_slot(program, cpus);
}

/* r8, r9: where the thread left user space. */
static void emit_registers(struct program *program)
{
	call(program, BPF_FUNC_get_current_task_btf);
	copy(program, BPF_REG_1, BPF_REG_0);
	call(program, BPF_FUNC_task_pt_regs);
	load(program, BPF_REG_8, BPF_REG_0, REGS_IP);
	load(program, BPF_REG_9, BPF_REG_0, REGS_SP);
}

/* r0: the slot of the thread's place. */
static void emit_place(struct program *program, int places)
{
	load(program, BPF_REG_1, BPF_REG_10, THREAD);
	emit_multiply(program, BPF_REG_1, SPREAD_THREAD);
	copy(program, BPF_REG_2, BPF_REG_9);
	emit_multiply(program, BPF_REG_2, SPREAD_SP);
	emit(program, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0);
	emit(program, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_1, BPF_REG_8, 0, 0);
	emit_multiply(program, BPF_REG_1, SPREAD_IP);
	emit(program, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_1, 0, 0, 48 - SLOT_BITS);
	emit(program, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, (1 << SLOT_BITS) - 1);
	emit_slot(program, places);
}

/* Goes on if the slot of r0 has a callchain left. r7: the time. */
static void emit_take(struct program *program, int due, int hz)
{
	load(program, BPF_REG_1, BPF_REG_0, due);
	copy(program, BPF_REG_2, BPF_REG_7);
	add(program, BPF_REG_2, BURST_NS);
	jump_to_reject(program, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, BPF_REG_2);
	emit(program, BPF_JMP | BPF_JGE | BPF_X, BPF_REG_1, BPF_REG_7, 1, 0);
	copy(program, BPF_REG_1, BPF_REG_7);
	add(program, BPF_REG_1, SECOND_NS / hz);
	save(program, BPF_REG_0, due, BPF_REG_1);
}

/* The callchain of this moment, as a sample of the CPU's event, with eight bytes of the stack as its data. */
static void emit_output(struct program *program, int events, int data)
{
	copy(program, BPF_REG_1, BPF_REG_6);
	load_map(program, BPF_REG_2, events);
	/* the current CPU's, as 32 bits: sign-extended it would be other flags */
	emit(program, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, -1);
	copy(program, BPF_REG_4, BPF_REG_10);
	add(program, BPF_REG_4, data);
	set(program, BPF_REG_5, 8);
	call(program, BPF_FUNC_perf_event_output);
}

/* Goes on if the slot of r0 is of this one. */
static void jump_to_other(struct program *program, int offset, int from)
{
	load(program, BPF_REG_3, BPF_REG_0, offset);
	jump_to_reject(program, BPF_JMP | BPF_JNE | BPF_X, BPF_REG_3, from);
}

/* Where the rejected go on. */
static void emit_rejected(struct program *program)
{
	for (int i = 0; i < program->reject_count; i++)
		jump_here(program, program->rejects[i]);
	program->reject_count = 0;
}

/* A program of a perf event answers with 0: the event is not written itself. One of a tracepoint answers with 1: the kernel hides
 * what any program answers with 0 from every perf event of the tracepoint, also from those of others
 * (perf_trace_run_bpf_submit in kernel/events/core.c). */
static void emit_end(struct program *program, int type)
{
	emit_rejected(program);
	set(program, BPF_REG_0, type == BPF_PROG_TYPE_TRACEPOINT);
	emit(program, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int load_program(const struct program *program, int type, const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.prog_type = (__u32)type;
	attr.insns = (uintptr_t)program->code;
	attr.insn_cnt = (__u32)program->length;
	attr.license = (uintptr_t) "Dual MIT/GPL";
	snprintf(attr.prog_name, sizeof attr.prog_name, "%s", name);
	return bpf(BPF_PROG_LOAD, &attr);
}

static int make_map(int type, size_t value_bytes, int count, const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_type = (__u32)type;
	attr.key_size = sizeof(__u32); /* all are arrays */
	attr.value_size = (__u32)value_bytes;
	attr.max_entries = (__u32)count;
	snprintf(attr.map_name, sizeof attr.map_name, "%s", name);
	return bpf(BPF_MAP_CREATE, &attr);
}

static int load_switches(const struct maps *maps, int events, int type, int has_places)
{
	struct program program = { .length = 0 };
	int is_idle, is_taken;

	emit_start(&program);
	/* the idle task waits for nothing */
	is_idle = program.length;
	emit(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0);
	emit_time(&program);
	emit_thread(&program, maps->threads);
	store(&program, SLOT, BPF_REG_0);
	load(&program, BPF_REG_1, BPF_REG_10, THREAD);
	save(&program, BPF_REG_0, offsetof(struct thread_slot, thread), BPF_REG_1);
	if (has_places) {
		emit_registers(&program);
		emit_place(&program, maps->places);
	}
	emit_take(&program, has_places ? 0 : offsetof(struct thread_slot, switch_due_ns), PLACE_HZ);
	emit_cpu(&program, maps->cpus);
	emit_take(&program, offsetof(struct cpu_slot, switch_due_ns), CPU_HZ);
	emit_output(&program, events, THREAD);
	is_taken = program.length;
	emit(&program, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	emit_rejected(&program);
	if (has_places) {
		load(&program, BPF_REG_0, BPF_REG_10, SLOT);
		load(&program, BPF_REG_1, BPF_REG_10, THREAD);
		save(&program, BPF_REG_0, offsetof(struct thread_slot, waiting), BPF_REG_1);
		save(&program, BPF_REG_0, offsetof(struct thread_slot, ip), BPF_REG_8);
		save(&program, BPF_REG_0, offsetof(struct thread_slot, sp), BPF_REG_9);
		save(&program, BPF_REG_0, offsetof(struct thread_slot, wait_ns), BPF_REG_7);
	}
	jump_here(&program, is_idle);
	jump_here(&program, is_taken);
	emit_end(&program, type);
	return load_program(&program, type, "perfcase_switch");
}

/* At the end of a system call: a long wait in it, at the same place, that has no callchain. */
static int load_returns(const struct maps *maps, int events)
{
	struct program program = { .length = 0 };

	emit_start(&program);
	emit_thread(&program, maps->threads);
	load(&program, BPF_REG_7, BPF_REG_0, offsetof(struct thread_slot, wait_ns));
	jump_to_reject(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_7, 0);
	load(&program, BPF_REG_1, BPF_REG_10, THREAD);
	jump_to_other(&program, offsetof(struct thread_slot, waiting), BPF_REG_1);
	emit(&program, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_0, 0, offsetof(struct thread_slot, wait_ns), 0);
	store(&program, SLOT, BPF_REG_0);
	store(&program, WAIT, BPF_REG_7);
	call(&program, BPF_FUNC_ktime_get_ns);
	add(&program, BPF_REG_7, LONG_NS);
	jump_to_reject(&program, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_7, BPF_REG_0);
	emit_registers(&program);
	load(&program, BPF_REG_0, BPF_REG_10, SLOT);
	jump_to_other(&program, offsetof(struct thread_slot, ip), BPF_REG_8);
	jump_to_other(&program, offsetof(struct thread_slot, sp), BPF_REG_9);
	emit_output(&program, events, WAIT);
	emit_end(&program, BPF_PROG_TYPE_RAW_TRACEPOINT);
	return load_program(&program, BPF_PROG_TYPE_RAW_TRACEPOINT, "perfcase_return");
}

static int load_wakeups(const struct maps *maps, int events, int is_scoped)
{
	struct program program = { .length = 0 };

	emit_start(&program);
	if (is_scoped) /* an interrupt of an idle CPU */
		jump_to_reject(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0);
	emit_time(&program);
	emit_thread(&program, maps->threads);
	if (is_scoped) {
		load(&program, BPF_REG_1, BPF_REG_10, THREAD);
		jump_to_other(&program, offsetof(struct thread_slot, thread), BPF_REG_1);
	}
	emit_take(&program, offsetof(struct thread_slot, wakeup_due_ns), PLACE_HZ);
	emit_cpu(&program, maps->cpus);
	emit_take(&program, offsetof(struct cpu_slot, wakeup_due_ns), CPU_HZ);
	emit_output(&program, events, THREAD);
	emit_end(&program, BPF_PROG_TYPE_TRACEPOINT);
	return load_program(&program, BPF_PROG_TYPE_TRACEPOINT, "perfcase_wakeup");
}

int stack_budget_load(struct stack_budget *budget, int is_scoped)
{
	const struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
	const int type = is_scoped ? BPF_PROG_TYPE_PERF_EVENT : BPF_PROG_TYPE_TRACEPOINT;
	struct maps maps;

	setrlimit(RLIMIT_MEMLOCK, &most); /* before Linux 5.11 maps count as locked memory */
	maps.cpus = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(struct cpu_slot), 1, "perfcase_cpu");
	maps.places = make_map(BPF_MAP_TYPE_ARRAY, sizeof(int64_t), 1 << SLOT_BITS, "perfcase_place");
	maps.threads = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct thread_slot), 1 << SLOT_BITS, "perfcase_thread");

	*budget = (struct stack_budget){ .switches = -1, .wakeups = -1, .returns = -1, .is_scoped = is_scoped };
	for (int i = 0; i < STACK_OUTPUTS; i++)
		if ((budget->outputs[i] = make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, CPUS, "perfcase_output")) < 0)
			return errno;
	if (maps.cpus < 0 || maps.places < 0 || maps.threads < 0)
		return errno;
	/* before Linux 5.15 no program can see the registers */
	if (REGS_IP >= 0)
		budget->switches = load_switches(&maps, budget->outputs[SWITCH_STACKS], type, 1);
	if (budget->switches >= 0)
		budget->returns = load_returns(&maps, budget->outputs[WAIT_STACKS]);
	else
		budget->switches = load_switches(&maps, budget->outputs[SWITCH_STACKS], type, 0);
	if (budget->switches >= 0)
		budget->wakeups = load_wakeups(&maps, budget->outputs[WAKEUP_STACKS], is_scoped);
	return budget->wakeups < 0 ? errno : 0;
}

int stack_budget_add(const struct stack_budget *budget, enum stack_output output, int cpu, int event)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_fd = (__u32)budget->outputs[output];
	attr.key = (uintptr_t)&cpu;
	attr.value = (uintptr_t)&event;
	return bpf(BPF_MAP_UPDATE_ELEM, &attr) ? errno : 0;
}

/* To a tracepoint on all CPUs: an event of one CPU is enough, and stays off: nothing is counted or written. Such a program has the callers of the tracepoint; one
 * at a raw tracepoint costs less, and has itself among them. */
static int attach(const char *tracepoint, int program)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof attr, .sample_period = 1, .disabled = 1 };
	int64_t number = tracepoint_number(tracepoint);
	int *cpus, file;

	if (number < 0)
		return ENOENT;
	attr.config = (uint64_t)number;
	list_cpus(&cpus);
	file = (int)syscall(SYS_perf_event_open, &attr, -1, cpus[0], -1, PERF_FLAG_FD_CLOEXEC);
	free(cpus);
	return file < 0 || ioctl(file, PERF_EVENT_IOC_SET_BPF, program) ? errno : 0;
}

static int attach_raw(const char *tracepoint, int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.raw_tracepoint.name = (uintptr_t)tracepoint;
	attr.raw_tracepoint.prog_fd = (__u32)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) < 0 ? errno : 0;
}

int stack_budget_begin_switches(const struct stack_budget *budget)
{
	return attach("sched:sched_switch", budget->switches);
}

int stack_budget_begin(const struct stack_budget *budget)
{
	/* in the waker; sched_wakeup, which Linux before 4.3 has only, may be in an interrupt on the CPU of the woken thread */
	int error = attach("sched:sched_waking", budget->wakeups);

	if (error == ENOENT)
		error = attach("sched:sched_wakeup", budget->wakeups);
	if (!error)
		error = attach("sched:sched_wakeup_new", budget->wakeups);
	return error || budget->returns < 0 ? error : attach_raw("sys_exit", budget->returns);
}
