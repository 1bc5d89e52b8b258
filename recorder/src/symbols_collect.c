/* symbols_collect.c: after the recording: every object that a sample of perf.data touches, and perf maps and jitdumps of processes
 * that ended before they were seen. */
#define _GNU_SOURCE
#include "perf_objects.h"
#include "symbols.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file system that does not answer must not keep the recorder: after the first, no more objects; after the second, the end. */
enum { TIME_LIMIT_S = 60, KILL_LIMIT_S = 90 };

/* Nobody knows the user of a process that is gone: only our own user's files are taken. */
static int is_ours(const struct stat *info, int64_t start_ns)
{
	uint32_t uid = geteuid();

	return is_its_own(info, &uid, 1, start_ns);
}

static void take_jitdump(struct bundle *bundle, const struct object *object, int64_t start_ns)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), file;
	pid_t pid = object->pids[(object->pid_count - 1) % OBJECT_PIDS];
	struct stat info;

	/* those of living processes were taken at the end of the recording */
	if (root >= 0 && !bundle_has_path(bundle, "jitdump", object->path, pid)) {
		file = open_below(root, object->path, &info);
		if (file < 0)
			bundle_missing(bundle, "jitdump", "", object->path, "its process ended, and it cannot be opened");
		else if (!is_ours(&info, start_ns))
			bundle_missing(bundle, "jitdump", "", object->path, "its process ended, and it may be another's");
		else
			bundle_jitdump(bundle, file, object->path, pid, atoi(strrchr(object->path, '/') + 5));
		if (file >= 0)
			close(file);
	}
	if (root >= 0)
		close(root);
}

static void take_object(struct bundle *bundle, const struct object *object, int64_t start_ns, int is_late)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(object->path), pids = object->pid_count < OBJECT_PIDS ? object->pid_count : OBJECT_PIDS;
	char *path = checked_strdup(object->path), build_id[ELF_BUILD_ID_HEX];
	const char *const unknown = "cannot be opened", *reason = unknown;
	const struct row *known;
	struct stat info;
	struct wanted wanted = { path, object->build_id, object->inode, object->generation, start_ns };
	int file = -1, is_deleted = length > sizeof deleted && !strcmp(path + length - (sizeof deleted - 1), deleted);

	if (object->rivals) {
		if (object->rivals == FIRST_RIVAL)
			bundle_missing(bundle, "elf", "", object->path, "several files had this path");
		free(path);
		return;
	}
	if (is_deleted) {
		path[length - (sizeof deleted - 1)] = 0;
		reason = "deleted and unreadable";
	}
	if ((known = bundle_find(bundle, object->build_id, path)) ||
	    (known = bundle_find(bundle, object->build_id, object->path))) {
		if (!bundle_has_path(bundle, "elf", object->path, 0))
			bundle_again(bundle, known, object->path);
		free(path);
		return;
	}
	if (is_late)
		reason = "no time";
	for (size_t i = 0; !is_late && file < 0 && i < pids; i++)
		file = open_mapped(object->pids[i], &wanted, &info, build_id, &reason);
	if (!is_late && file < 0 && !is_deleted) { /* what has the path of a deleted one is another file */
		errno = 0;
		file = open_own(&wanted, &info, build_id, &reason);
		if (file < 0 && errno == ENOENT && reason == unknown)
			reason = "no such file when the recording ended";
	}
	if (file >= 0 && *build_id && (known = bundle_find(bundle, build_id, object->path))) /* perf may not know the id, or padded it */
		bundle_again(bundle, known, object->path);
	else if (file >= 0)
		bundle_object(bundle, file, &info, build_id, object->path);
	else if (!bundle_has_path(bundle, "elf", object->path, 0) || *object->build_id)
		bundle_missing(bundle, "elf", object->build_id, object->path, reason);
	if (file >= 0)
		close(file);
	free(path);
}

/* Perf maps that are left in our /tmp: some runtimes write them when they end. */
static void take_perf_maps(struct bundle *bundle, const struct objects *objects, int64_t start_ns)
{
	DIR *folder = opendir("/tmp");
	struct dirent *item;

	while (folder && (item = readdir(folder))) {
		struct owner owner;
		struct stat info;
		int pid, end = 0, file;

		if (sscanf(item->d_name, "perf-%d.map%n", &pid, &end) != 1 || !end || item->d_name[end] || pid <= 0 ||
		    pid >= PID_MOST || !(objects->pids[pid / 8] >> pid % 8 & 1) || bundle_has_path(bundle, "perf-map", NULL, pid))
			continue;
		if ((file = open_below(dirfd(folder), item->d_name, &info)) < 0)
			continue;
		/* a living process has had its turn, with its own /tmp and user */
		if (read_owner(pid, &owner) && is_ours(&info, start_ns))
			bundle_perf_map(bundle, file, pid, pid);
		close(file);
	}
	if (folder)
		closedir(folder);
}

static int is_path_of(const char *path, const struct object *object)
{
	size_t length = strlen(path);

	return !strncmp(object->path, path, length) && (!object->path[length] || !strcmp(object->path + length, " (deleted)"));
}

/* Whether what was taken during the recording is of use. */
static int is_wanted(const struct row *row, const void *what)
{
	const struct objects *objects = what;

	if (row->pid)
		return is_sampled(&objects->touched, row->pid);
	if (!strncmp(row->kind, "vdso", 4))
		return 1;
	for (size_t i = 0; i < objects->count; i++)
		if (objects->list[i].is_touched && (is_path_of(row->path, &objects->list[i]) ||
						    (*row->build_id && !strcmp(row->build_id, objects->list[i].build_id))))
			return 1;
	return 0;
}

int symbols_collect(struct bundle *bundle, const char *perf_data, const char *samples, int64_t start_ns)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + TIME_LIMIT_S * 1000000000LL;
	struct objects objects = { .is_all = bundle->is_all };
	const char *trouble;
	size_t untouched = 0;

	die_with_parent();
	alarm(KILL_LIMIT_S);
	if ((trouble = read_perf_objects(perf_data, samples, &objects)))
		warn("%s: %s", perf_data, trouble);
	if (!objects.touched.doubt)
		bundle_drop(bundle, is_wanted, &objects); /* first: it leaves room */
	else if (!bundle->is_all)
		warn("%s: %s: all mapped objects are taken", perf_data, objects.touched.doubt);
	bundle_vdso(bundle);
	take_perf_maps(bundle, &objects, start_ns);
	for (size_t i = 0; i < objects.count; i++)
		if (!objects.list[i].is_touched)
			untouched++;
		else if (is_jitdump(objects.list[i].path))
			take_jitdump(bundle, &objects.list[i], start_ns);
		else
			take_object(bundle, &objects.list[i], start_ns, clock_ns(CLOCK_MONOTONIC) > end);
	if (clock_ns(CLOCK_MONOTONIC) < end)
		bundle_debug_files(bundle);
	printf("untouched=%zu\n", untouched);
	if (objects.left_out)
		warn("%zu more mappings are not looked at", objects.left_out);
	return 0;
}
