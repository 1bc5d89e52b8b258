/* events_describe.c: records of what was there before the events: the kernel, processes, their threads and mappings. */
#define _GNU_SOURCE
#include "elf_table.h"
#include "events.h"
#include "open_file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { RECORD_MOST = 8192, TRAILER_BYTES = 32, ID_MOST = 20, NAMES = 4096 };

/* PERF_RECORD_MISC_MMAP_BUILD_ID, of Linux 5.12. */
enum { MISC_BUILD_ID = 1 << 14, MISC_FORK_EXEC = 1 << 13, MISC_MMAP_DATA = 1 << 13 };

/* One record in the making, and where it goes. */
struct maker {
	record_sink *sink;
	void *context;
	size_t length;
	union {
		struct perf_event_header header;
		char bytes[RECORD_MOST];
	};
};

/* PERF_RECORD_MMAP2 up to its name. */
struct mapped {
	uint32_t pid, tid;
	uint64_t address, length, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t id_bytes, reserved[3];
			uint8_t id[ID_MOST];
		};
	};
	uint32_t protection, flags;
};

/* The build id of a file that was looked at. */
struct known {
	struct known *next;
	uint64_t device, inode;
	size_t id_bytes;
	uint8_t id[ID_MOST];
};

static struct known *known_files[NAMES];

static void begin(struct maker *maker, uint32_t type, uint16_t misc, const void *body, size_t bytes)
{
	maker->header = (struct perf_event_header){ .type = type, .misc = misc };
	maker->length = sizeof maker->header + bytes;
	memcpy(maker->bytes + sizeof maker->header, body, bytes);
}

/* Adds a text with its zero, up to a multiple of 8. */
static void add_name(struct maker *maker, const char *name)
{
	size_t length = strnlen(name, RECORD_MOST / 2), padded = (length / 8 + 1) * 8;

	memset(maker->bytes + maker->length, 0, padded);
	memcpy(maker->bytes + maker->length, name, length);
	maker->length += padded;
}

/* Without a time, a CPU or an event: readers take it first. */
static void finish(struct maker *maker)
{
	struct iovec piece;

	memset(maker->bytes + maker->length, 0, TRAILER_BYTES);
	maker->length += TRAILER_BYTES;
	maker->header.size = (uint16_t)maker->length;
	piece = (struct iovec){ maker->bytes, maker->length };
	maker->sink(maker->context, &piece, 1);
}

static void put_mapped(struct maker *maker, uint16_t mode, struct mapped *mapped, const struct known *known, const char *name)
{
	if (known && known->id_bytes) {
		mode |= MISC_BUILD_ID;
		mapped->inode = mapped->generation = 0;
		mapped->major = mapped->minor = 0;
		mapped->id_bytes = (uint8_t)known->id_bytes;
		memcpy(mapped->id, known->id, ID_MOST);
	}
	begin(maker, PERF_RECORD_MMAP2, mode, mapped, sizeof *mapped);
	add_name(maker, name);
	finish(maker);
}

/* The build id among ELF notes, as sysfs has those of the kernel and its modules. */
static void find_note(const char *path, struct known *known)
{
	struct buffer text = { NULL, 0, 0 };
	uint32_t head[3]; /* bytes of the name, bytes of the content, kind */

	if (!read_file(path, &text, 1 << 16))
		for (size_t at = 0; at + sizeof head <= text.length;) {
			size_t content;

			memcpy(head, text.data + at, sizeof head);
			content = at + sizeof head + (head[0] + 3ull) / 4 * 4;
			if (content + head[1] > text.length)
				break;
			if (head[2] == 3 && head[0] == 4 && !memcmp(text.data + at + sizeof head, "GNU", 4) && head[1] <= ID_MOST) {
				known->id_bytes = head[1];
				memcpy(known->id, text.data + content, head[1]);
				break;
			}
			at = content + (head[1] + 3ull) / 4 * 4;
		}
	free(text.data);
}

static void describe_modules(struct maker *maker)
{
	FILE *list = fopen("/proc/modules", "re");
	char line[512], name[128], path[256], text[160];
	unsigned long long bytes, address;

	while (list && fgets(line, sizeof line, list)) {
		struct known known = { .id_bytes = 0 };
		struct mapped mapped = { .pid = UINT32_MAX };

		if (sscanf(line, "%127s %llu %*s %*s %*s %llx", name, &bytes, &address) != 3 || !address || strchr(name, '/'))
			continue;
		mapped.address = address;
		mapped.length = bytes;
		find_note(format_path(path, sizeof path, "/sys/module/%s/notes/.note.gnu.build-id", name), &known);
		put_mapped(maker, PERF_RECORD_MISC_KERNEL, &mapped, &known, format_path(text, sizeof text, "[%s]", name));
	}
	if (list)
		fclose(list);
}

/* Where the kernel's code is, by its symbols; nothing where the kernel keeps that to itself. */
void describe_kernel(record_sink *sink, void *context)
{
	struct maker maker = { .sink = sink, .context = context };
	struct mapped mapped = { .pid = UINT32_MAX };
	struct known known = { .id_bytes = 0 };
	FILE *list = fopen("/proc/kallsyms", "re");
	unsigned long long address, begin_at = 0, end = 0;
	char line[1024], name[64];
	const char *text = "[kernel.kallsyms]_text";

	while (list && !end && fgets(line, sizeof line, list)) {
		/* nearly all of 100,000 symbols have another name */
		if (!strstr(line, "text\n") || sscanf(line, "%llx %*c %63s", &address, name) != 2)
			continue;
		if (!strcmp(name, "_text") || (!begin_at && !strcmp(name, "_stext"))) {
			begin_at = address;
			text = *(name + 1) == 't' ? "[kernel.kallsyms]_text" : "[kernel.kallsyms]_stext";
		} else if (!strcmp(name, "_etext")) {
			end = address;
		}
	}
	if (list)
		fclose(list);
	if (!begin_at || end <= begin_at)
		return;
	mapped.address = mapped.offset = begin_at;
	mapped.length = end - begin_at;
	find_note("/sys/kernel/notes", &known);
	put_mapped(&maker, PERF_RECORD_MISC_KERNEL, &mapped, &known, text);
	describe_modules(&maker);
}

/* Opens the file of a mapping; where the mapping itself is not ours to open, by its path, if that is the same file. */
static int open_mapping(pid_t pid, const char *range, const char *path, uint64_t inode)
{
	struct stat info;
	char link[128];
	int root, file = open_link(format_path(link, sizeof link, "/proc/%d/map_files/%s", (int)pid, range), &info);

	if (file >= 0 || (root = open_root_of(pid)) < 0)
		return file;
	file = open_below(root, path, &info);
	close(root);
	if (file >= 0 && info.st_ino != inode) {
		close(file);
		return -1;
	}
	return file;
}

static const struct known *look_at(pid_t pid, const char *range, const char *path, uint64_t device, uint64_t inode)
{
	struct known **slot = &known_files[(device ^ inode) % NAMES], *known;
	char hex[ELF_BUILD_ID_HEX] = "";
	int file;

	for (known = *slot; known; known = known->next)
		if (known->device == device && known->inode == inode)
			return known;
	if ((file = open_mapping(pid, range, path, inode)) < 0)
		return NULL; /* another process may be easier to look at */
	known = checked_realloc(NULL, sizeof *known);
	*known = (struct known){ .next = *slot, .device = device, .inode = inode };
	*slot = known;
	if (!elf_build_id(file, hex) && strlen(hex) <= 2 * ID_MOST)
		for (; sscanf(hex + 2 * known->id_bytes, "%2hhx", &known->id[known->id_bytes]) == 1; known->id_bytes++)
			;
	close(file);
	return known;
}

/* The name of a mapping as the kernel would record it: what stands for a newline in the maps is one. */
static const char *mapping_name(pid_t pid, const char *range, const char *path, char *room, size_t size)
{
	char link[128];
	ssize_t length;

	if (!*path)
		return "//anon";
	if (!strstr(path, "\\012"))
		return path;
	length = readlink(format_path(link, sizeof link, "/proc/%d/map_files/%s", (int)pid, range), room, size - 1);
	if (length <= 0)
		return path;
	room[length] = 0;
	return room;
}

/* What is code, or also what is data. */
static void describe_mappings(struct maker *maker, pid_t pid, int with_data)
{
	static struct buffer text;
	char path[64], range[64], name[MAPPED_PATH + 16], allowed[5];

	if (read_file(format_path(path, sizeof path, "/proc/%d/maps", (int)pid), &text, MAPS_LIMIT) || !text.length)
		return;
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
		struct mapped mapped = { .pid = (uint32_t)pid, .tid = (uint32_t)pid };
		unsigned long long begin_at, end, offset, inode;
		const struct known *known = NULL;
		unsigned major, minor;
		int at = 0, is_code;

		if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &begin_at, &end, allowed, &offset, &major, &minor, &inode, &at) < 7 ||
		    !at)
			continue;
		is_code = allowed[2] == 'x';
		if (!is_code && !with_data)
			continue;
		mapped.address = begin_at;
		mapped.length = end - begin_at;
		mapped.offset = offset;
		mapped.major = major;
		mapped.minor = minor;
		mapped.inode = inode;
		mapped.protection = (is_code ? PROT_EXEC : 0) | (allowed[0] == 'r' ? PROT_READ : 0) | (allowed[1] == 'w' ? PROT_WRITE : 0);
		mapped.flags = allowed[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
		format_path(range, sizeof range, "%.*s", (int)strcspn(line, " "), line);
		if (line[at] == '/' && inode)
			known = look_at(pid, range, line + at, makedev(major, minor), inode);
		put_mapped(maker, PERF_RECORD_MISC_USER | (is_code ? 0 : MISC_MMAP_DATA), &mapped, known,
			   mapping_name(pid, range, line + at, name, sizeof name));
	}
}

/* That a thread began, and its name. A process's parent is told in a recording of everything; 0 is none. */
static void describe_thread(struct maker *maker, uint32_t pid, uint32_t tid, uint32_t parent)
{
	struct { uint32_t pid, parent_pid, tid, parent_tid; uint64_t time; } began = { pid, parent, tid, parent, 0 };
	struct buffer name = { NULL, 0, 0 };
	char path[64];

	if (!read_file(format_path(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid), &name, 256) && name.length) {
		name.data[name.length - (name.data[name.length - 1] == '\n')] = 0;
		if (parent) {
			begin(maker, PERF_RECORD_FORK, MISC_FORK_EXEC, &began, sizeof began);
			finish(maker);
		}
		begin(maker, PERF_RECORD_COMM, 0, (uint32_t[]){ pid, tid }, 8);
		add_name(maker, name.data);
		finish(maker);
	}
	free(name.data);
}

void describe_processes(const struct events *events, record_sink *sink, void *context)
{
	const struct targets *targets = &events->targets;
	struct maker maker = { .sink = sink, .context = context };
	struct buffer text = { NULL, 0, 0 };
	char path[64];

	for (size_t i = 0; i < targets->count; i++) {
		uint32_t pid = (uint32_t)targets->processes[i].pid;
		long long parent = 0;
		struct dirent *item;
		DIR *tasks;

		if (!targets->processes[i].is_target)
			continue;
		if (targets->is_everything && !read_file(format_path(path, sizeof path, "/proc/%u/stat", pid), &text, 4096) && text.length)
			proc_stat_field(text.data, 4, &parent);
		describe_thread(&maker, pid, pid, (uint32_t)parent);
		describe_mappings(&maker, (pid_t)pid, events->list[0].attr.mmap_data);
		tasks = opendir(format_path(path, sizeof path, "/proc/%u/task", pid));
		while (tasks && (item = readdir(tasks)))
			if (isdigit((unsigned char)item->d_name[0]) && (uint32_t)atoi(item->d_name) != pid)
				describe_thread(&maker, pid, (uint32_t)atoi(item->d_name), pid);
		if (tasks)
			closedir(tasks);
	}
	free(text.data);
}
