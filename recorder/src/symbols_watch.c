/* symbols_watch.c: during the recording: takes what may be gone when it ends. Perf maps and jitdumps of each process are held
 * open from when they are first seen, and copied when it ends; of objects only those that were deleted, or lie in another mount
 * namespace, which may vanish with it, or are new and cannot be told by a build id. */
#define _GNU_SOURCE
#include "symbols.h"
#include "targets.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TIMES_OWN_COST = 50, FIRST_LOOKS = 20, JITDUMPS_MOST = 16, SEEN_SLOTS = 1 << 16 };
static const int64_t first_step_ns = 100000000, step_ns = 1000000000;

/* A file that is held open for a process. */
struct held {
	int file; /* -1: none */
	dev_t device;
	ino_t inode;
	char *path;
};

struct watched {
	pid_t pid;
	int64_t start_ns;
	struct owner owner;
	struct held map, jitdumps[JITDUMPS_MOST];
};

struct watch {
	struct bundle *bundle;
	struct targets targets;
	struct watched **list; /* by pid */
	size_t count;
	uint64_t seen[SEEN_SLOTS]; /* hashes of mappings that were looked at; 0: free */
	size_t seen_count;
	int64_t start_ns;
	struct buffer maps;
};

/* Whether this mapping is looked at for the first time. A full table sees everything as old. */
static int is_new(struct watch *watch, const struct mapping *mapping, int elsewhere)
{
	uint64_t hash = 0xcbf29ce484222325u ^ mapping->inode;
	size_t slot;

	for (const char *at = mapping->path; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	hash = (hash ^ (uint64_t)(mapping->is_deleted + 2 * elsewhere)) * 0x100000001b3u;
	hash += !hash;
	if (watch->seen_count > SEEN_SLOTS / 2)
		return 0;
	for (slot = hash % SEEN_SLOTS; watch->seen[slot]; slot = (slot + 1) % SEEN_SLOTS)
		if (watch->seen[slot] == hash)
			return 0;
	watch->seen[slot] = hash;
	watch->seen_count++;
	return 1;
}

static void let_go(struct held *held)
{
	if (held->file >= 0)
		close(held->file);
	free(held->path);
	*held = (struct held){ -1, 0, 0, NULL };
}

/* Holds `file`, or what is held already if that is the same file. */
static void hold(struct held *held, int file, const struct stat *info, const char *path)
{
	if (held->file >= 0 && held->device == info->st_dev && held->inode == info->st_ino) {
		close(file);
		return;
	}
	let_go(held);
	*held = (struct held){ file, info->st_dev, info->st_ino, checked_strdup(path) };
}

static void hold_jitdump(struct watched *process, int root, const char *path)
{
	struct held *held = process->jitdumps;
	struct stat info;
	int file;

	while (held < process->jitdumps + JITDUMPS_MOST && held->file >= 0 && strcmp(held->path, path))
		held++;
	if (held == process->jitdumps + JITDUMPS_MOST || held->file >= 0 || (file = open_below(root, path, &info)) < 0)
		return;
	if (is_its_own(&info, process->owner.uids, 4, process->start_ns))
		hold(held, file, &info, path);
	else
		close(file);
}

static void look_for_perf_map(struct watched *process, int root)
{
	char path[64];
	struct stat info;
	int file = open_below(root, format_path(path, sizeof path, "tmp/perf-%d.map", (int)process->owner.nspid), &info);

	if (file < 0)
		return;
	if (is_its_own(&info, process->owner.uids, 4, process->start_ns))
		hold(&process->map, file, &info, path);
	else
		close(file);
}

/* Takes an object now if it may be gone later. */
static void look_at_object(struct watch *watch, const struct watched *process, const struct mapping *mapping, int elsewhere)
{
	/* what the mapping itself leads to needs no proof */
	struct wanted wanted = { mapping->path, "", mapping->inode, 0, 0 };
	int may_vanish = mapping->is_deleted || elsewhere, file;
	char build_id[ELF_BUILD_ID_HEX];
	const char *reason = NULL;
	const struct row *known;
	struct stat info;

	/* as a rule: an old file, which will be there at the end */
	if (!may_vanish && !lstat(mapping->path, &info) && info.st_ctim.tv_sec < watch->start_ns / 1000000000)
		return;
	if ((file = open_mapped(process->pid, &wanted, &info, build_id, &reason)) < 0)
		return;
	known = *build_id ? bundle_find(watch->bundle, build_id, mapping->path) : NULL;
	if (known && !bundle_has_path(watch->bundle, "elf", mapping->path, 0))
		bundle_again(watch->bundle, known, mapping->path);
	else if (!known && (may_vanish || !*build_id))
		bundle_object(watch->bundle, file, &info, build_id, mapping->path);
	close(file);
}

static void look_at_process(struct watch *watch, struct watched *process)
{
	int root = open_root_of(process->pid), elsewhere;
	char path[64], *text;
	struct mapping mapping;

	if (root < 0)
		return;
	elsewhere = is_elsewhere(process->pid);
	read_owner(process->pid, &process->owner);
	look_for_perf_map(process, root);
	format_path(path, sizeof path, "/proc/%d/maps", (int)process->pid);
	if (!read_file(path, &watch->maps, MAPS_LIMIT) && watch->maps.length) {
		text = watch->maps.data;
		bundle_vdso32(watch->bundle, process->pid, text);
		while (next_mapping(&text, &mapping))
			if (is_jitdump(mapping.path))
				hold_jitdump(process, root, mapping.path);
			else if (is_new(watch, &mapping, elsewhere))
				look_at_object(watch, process, &mapping, elsewhere);
	}
	close(root);
}

/* A process that ended, or the end of the recording. */
static void finish(struct watch *watch, struct watched *process)
{
	if (process->map.file >= 0)
		bundle_perf_map(watch->bundle, process->map.file, process->pid, process->owner.nspid);
	let_go(&process->map);
	for (int i = 0; i < JITDUMPS_MOST; i++) {
		struct held *held = &process->jitdumps[i];

		if (held->file >= 0)
			bundle_jitdump(watch->bundle, held->file, held->path, process->pid, process->owner.nspid);
		let_go(held);
	}
	free(process);
}

static struct watched *begin(pid_t pid)
{
	struct watched *process = checked_realloc(NULL, sizeof *process);

	*process = (struct watched){ .pid = pid, .start_ns = started_realtime_ns(pid), .map.file = -1 };
	for (int i = 0; i < JITDUMPS_MOST; i++)
		process->jitdumps[i].file = -1;
	return process;
}

/* Both lists are in the order of pids. */
static void look(struct watch *watch)
{
	struct watched **now;
	size_t old = 0, count = 0;

	targets_refresh(&watch->targets);
	now = checked_realloc(NULL, (watch->targets.count + 1) * sizeof(*now));
	for (size_t i = 0; i < watch->targets.count; i++) {
		const struct process *process = &watch->targets.processes[i];

		if (!process->is_target || process->pid == getpid())
			continue;
		while (old < watch->count && watch->list[old]->pid < process->pid)
			finish(watch, watch->list[old++]);
		if (old < watch->count && watch->list[old]->pid == process->pid)
			now[count++] = watch->list[old++];
		else
			now[count++] = begin(process->pid);
		look_at_process(watch, now[count - 1]);
	}
	while (old < watch->count)
		finish(watch, watch->list[old++]);
	free(watch->list);
	watch->list = now;
	watch->count = count;
}

int symbols_watch(struct bundle *bundle, char *scope, int64_t start_ns, int at_end)
{
	static struct watch watch;
	struct rlimit files;
	int64_t looks = 0;

	watch.bundle = bundle;
	watch.start_ns = start_ns;
	targets_choose(&watch.targets, scope);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	catch_stop_signals();
	/* what a week of processes leaves would fill the disk: those that live at the end */
	if (at_end)
		wait_for_stop();
	while (!stop_requested) {
		int64_t wait = looks++ < FIRST_LOOKS ? first_step_ns : step_ns, cost = clock_ns(CLOCK_PROCESS_CPUTIME_ID), end;

		look(&watch);
		cost = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cost;
		if (wait < cost * TIMES_OWN_COST)
			wait = cost * TIMES_OWN_COST;
		end = clock_ns(CLOCK_MONOTONIC) + wait;
		while (!stop_requested && clock_ns(CLOCK_MONOTONIC) < end)
			sleep_ns(end - clock_ns(CLOCK_MONOTONIC));
	}
	look(&watch);
	for (size_t i = 0; i < watch.count; i++)
		finish(&watch, watch.list[i]);
	return 0;
}
