/* stack_budget.c: BPF programs that decide which context switches and wakeups get a callchain.
 *
 * A callchain costs more than everything else that is recorded of a switch, and a thread that waits 100,000 times a second waits
 * at the same few places. A place is where the thread left user space: instruction and stack pointer. Each place of a
 * thread has PLACE_HZ callchains a second, each thread THREAD_HZ, and a rare wait of a busy thread has its own, as it is at
 * another place. Where a wait in a system call had none and took LONG_NS, the call's end has it: only the part in user space,
 * with the time at which the wait began.
 *
 * The rate is held by the generic cell rate algorithm (ITU-T I.371): one number for each place, the time at which the next
 * callchain would be on time. */
#define _GNU_SOURCE
#include "stack_budget.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND_NS 1000000000
enum {
	PLACE_HZ = 1000,
	THREAD_HZ = 5000,
	LONG_NS = SECOND_NS / 1000,
	BURST_NS = SECOND_NS / 20, /* what was not used of this time may be used at once */
	PLACES = 1 << 15,
	CPUS = 1 << 12,
	MOST = 160,
};

/* What a thread is counted by. WITHOUT: not counted, but when the wait began that has no callchain. */
enum kind { AT_PLACE, IN_THREAD, AS_WAKER, WITHOUT };

/* The key of the map lies at the end of the program's stack, a value before it. */
enum { KEY_BYTES = 24, KEY = -KEY_BYTES, KIND = KEY + 4, IP = KEY + 8, SP = KEY + 16, VALUE = KEY - 8 };

/* Where struct pt_regs has the instruction pointer and the stack pointer: arch/ARCH/include/uapi/asm/ptrace.h. */
#if defined(__x86_64__)
enum { REGS_IP = 128, REGS_SP = 152 };
#elif defined(__aarch64__)
enum { REGS_IP = 256, REGS_SP = 248 };
#else
enum { REGS_IP = -1, REGS_SP = -1 };
#endif

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

static void store(struct program *program, int offset, int from)
{
	emit(program, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, from, offset, 0);
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

/* r6: what the program was called with, r7: the time; the key: the thread. */
static void emit_start(struct program *program)
{
	copy(program, BPF_REG_6, BPF_REG_1);
	set(program, BPF_REG_0, 0);
	store(program, KEY, BPF_REG_0);
	store(program, IP, BPF_REG_0);
	store(program, SP, BPF_REG_0);
	call(program, BPF_FUNC_get_current_pid_tgid);
	emit(program, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0, KEY, 0);
	copy(program, BPF_REG_8, BPF_REG_0);
	call(program, BPF_FUNC_ktime_get_ns);
	copy(program, BPF_REG_7, BPF_REG_0);
}

static void emit_kind(struct program *program, enum kind kind)
{
	emit(program, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, KIND, kind);
}

static void emit_look_up(struct program *program, int map)
{
	load_map(program, BPF_REG_1, map);
	copy(program, BPF_REG_2, BPF_REG_10);
	add(program, BPF_REG_2, KEY);
	call(program, BPF_FUNC_map_lookup_elem);
}

/* The key, with what a register holds as its value. */
static void emit_insert(struct program *program, int map, int from)
{
	store(program, VALUE, from);
	load_map(program, BPF_REG_1, map);
	copy(program, BPF_REG_2, BPF_REG_10);
	add(program, BPF_REG_2, KEY);
	copy(program, BPF_REG_3, BPF_REG_10);
	add(program, BPF_REG_3, VALUE);
	set(program, BPF_REG_4, BPF_ANY);
	call(program, BPF_FUNC_map_update_elem);
}

/* Goes on if the key has a callchain left. */
static void emit_take(struct program *program, int map, int hz)
{
	const int pause_ns = SECOND_NS / hz;
	int is_new, is_late, is_kept;

	emit_look_up(program, map);
	is_new = program->length;
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0);
	emit(program, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_0, 0, 0);
	copy(program, BPF_REG_2, BPF_REG_7);
	add(program, BPF_REG_2, BURST_NS);
	jump_to_reject(program, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, BPF_REG_2);
	is_late = program->length;
	emit(program, BPF_JMP | BPF_JGE | BPF_X, BPF_REG_1, BPF_REG_7, 0, 0);
	copy(program, BPF_REG_1, BPF_REG_7);
	jump_here(program, is_late);
	add(program, BPF_REG_1, pause_ns);
	emit(program, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_1, 0, 0);
	is_kept = program->length;
	emit(program, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	jump_here(program, is_new);
	copy(program, BPF_REG_1, BPF_REG_7);
	add(program, BPF_REG_1, pause_ns);
	emit_insert(program, map, BPF_REG_1);
	jump_here(program, is_kept);
}

/* r8, r9: where the thread left user space. */
static void emit_registers(struct program *program)
{
	call(program, BPF_FUNC_get_current_task_btf);
	copy(program, BPF_REG_1, BPF_REG_0);
	call(program, BPF_FUNC_task_pt_regs);
	emit(program, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_8, BPF_REG_0, REGS_IP, 0);
	emit(program, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_9, BPF_REG_0, REGS_SP, 0);
}

/* The key: also this place. */
static void emit_place(struct program *program)
{
	store(program, IP, BPF_REG_8);
	store(program, SP, BPF_REG_9);
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

/* Where the rejected go on. */
static void emit_rejected(struct program *program)
{
	for (int i = 0; i < program->reject_count; i++)
		jump_here(program, program->rejects[i]);
	program->reject_count = 0;
}

/* 0: the event itself is not written. */
static void emit_end(struct program *program)
{
	emit_rejected(program);
	set(program, BPF_REG_0, 0);
	emit(program, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int load(const struct program *program, int type, const char *name)
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

static int make_map(int type, int key_bytes, int value_bytes, int count, const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_type = (__u32)type;
	attr.key_size = (__u32)key_bytes;
	attr.value_size = (__u32)value_bytes;
	attr.max_entries = (__u32)count;
	snprintf(attr.map_name, sizeof attr.map_name, "%s", name);
	return bpf(BPF_MAP_CREATE, &attr);
}

/* The time is the key's value from now on: in place where it is there, as to exchange it takes ten times as long. */
static void emit_note(struct program *program, int map)
{
	int is_new, is_done;

	emit_look_up(program, map);
	is_new = program->length;
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0);
	emit(program, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_7, 0, 0);
	is_done = program->length;
	emit(program, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	jump_here(program, is_new);
	emit_insert(program, map, BPF_REG_7);
	jump_here(program, is_done);
}

static int load_switches(int map, int events, int has_places)
{
	struct program program = { .length = 0 };
	int is_idle, is_taken;

	emit_start(&program);
	/* the idle task waits for nothing */
	emit(&program, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_8, 0, 0, 32);
	is_idle = program.length;
	emit(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_8, 0, 0, 0);
	emit_kind(&program, IN_THREAD);
	if (has_places) {
		emit_registers(&program);
		emit_take(&program, map, THREAD_HZ);
		emit_kind(&program, AT_PLACE);
		emit_place(&program);
	}
	emit_take(&program, map, PLACE_HZ);
	emit_output(&program, events, KEY);
	is_taken = program.length;
	emit(&program, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	emit_rejected(&program);
	if (has_places) {
		emit_place(&program);
		emit_kind(&program, WITHOUT);
		emit_note(&program, map);
	}
	jump_here(&program, is_idle);
	jump_here(&program, is_taken);
	emit_end(&program);
	return load(&program, BPF_PROG_TYPE_PERF_EVENT, "perfcase_switch");
}

/* At the end of a system call: a long wait in it, at the same place, that has no callchain. */
static int load_returns(int map, int events)
{
	struct program program = { .length = 0 };

	emit_start(&program);
	emit_registers(&program);
	emit_place(&program);
	emit_kind(&program, WITHOUT);
	emit_look_up(&program, map);
	jump_to_reject(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0);
	emit(&program, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_8, BPF_REG_0, 0, 0);
	jump_to_reject(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_8, 0);
	emit(&program, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_0, 0, 0, 0);
	copy(&program, BPF_REG_1, BPF_REG_8);
	add(&program, BPF_REG_1, LONG_NS);
	jump_to_reject(&program, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, BPF_REG_7);
	store(&program, VALUE, BPF_REG_8);
	emit_output(&program, events, VALUE);
	emit_end(&program);
	return load(&program, BPF_PROG_TYPE_RAW_TRACEPOINT, "perfcase_return");
}

static int load_wakeups(int map, int events, int is_scoped)
{
	struct program program = { .length = 0 };

	emit_start(&program);
	if (is_scoped) {
		emit_kind(&program, IN_THREAD);
		emit_look_up(&program, map);
		jump_to_reject(&program, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0);
	}
	emit_kind(&program, AS_WAKER);
	emit_take(&program, map, PLACE_HZ);
	emit_output(&program, events, KEY);
	emit_end(&program);
	return load(&program, BPF_PROG_TYPE_RAW_TRACEPOINT, "perfcase_wakeup");
}

int stack_budget_load(struct stack_budget *budget, int is_scoped)
{
	const struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
	int map;

	setrlimit(RLIMIT_MEMLOCK, &most); /* before Linux 5.11 maps count as locked memory */
	map = make_map(BPF_MAP_TYPE_LRU_HASH, KEY_BYTES, 8, PLACES, "perfcase_stacks");

	*budget = (struct stack_budget){ .switches = -1, .wakeups = -1, .returns = -1 };
	for (int i = 0; i < STACK_OUTPUTS; i++)
		if ((budget->outputs[i] = make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, CPUS, "perfcase_output")) < 0)
			return errno;
	if (map < 0)
		return errno;
	/* before Linux 5.15 no program can see the registers */
	if (REGS_IP >= 0)
		budget->switches = load_switches(map, budget->outputs[SWITCH_STACKS], 1);
	if (budget->switches >= 0)
		budget->returns = load_returns(map, budget->outputs[WAIT_STACKS]);
	else
		budget->switches = load_switches(map, budget->outputs[SWITCH_STACKS], 0);
	if (budget->switches >= 0)
		budget->wakeups = load_wakeups(map, budget->outputs[WAKEUP_STACKS], is_scoped);
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

static int attach(const char *tracepoint, int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.raw_tracepoint.name = (uintptr_t)tracepoint;
	attr.raw_tracepoint.prog_fd = (__u32)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) < 0 ? errno : 0;
}

int stack_budget_begin(const struct stack_budget *budget)
{
	int error = attach("sched_wakeup", budget->wakeups);

	if (!error)
		error = attach("sched_wakeup_new", budget->wakeups);
	return error || budget->returns < 0 ? error : attach("sys_exit", budget->returns);
}
