/* tracing_data.c: perf's copy of the formats in tracefs, as tools/perf/util/trace-event-info.c of the Linux source writes it. */
#define _GNU_SOURCE
#include "perf_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024, FORMAT_MOST = 1 << 20 };

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

/* A file of tracefs. 0, or the errno. */
static int read_tracefs(struct buffer *text, const char *file)
{
	char path[PATH_SIZE];
	int error = 0;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (!(error = read_file(format_path(path, sizeof path, "%s/%s", places[i], file), text, FORMAT_MOST)))
			return 0;
	text->length = 0;
	return error;
}

/* "system:event" as a path of tracefs. */
static const char *event_path(char path[PATH_SIZE], const char *name, const char *file)
{
	size_t system = strcspn(name, ":");

	if (!name[system] || strchr(name, '/') || strlen(name) > PATH_SIZE / 2)
		return NULL;
	return format_path(path, PATH_SIZE, "events/%.*s/%s/%s", (int)system, name, name + system + 1, file);
}

int64_t tracepoint_number(const char *name)
{
	struct buffer text = { NULL, 0, 0 };
	char path[PATH_SIZE];
	int64_t number = -1;

	if (event_path(path, name, "id") && !read_tracefs(&text, path) && text.length) {
		text.data[strcspn(text.data, "\n")] = 0;
		number = parse_integer(text.data);
	}
	free(text.data);
	return number;
}

static int is_tracepoint(const struct perf_event *event)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT;
}

static int same_system(const char *left, const char *right)
{
	size_t length = strcspn(left, ":");

	return !strncmp(left, right, length + 1);
}

/* Whether no tracepoint before it is of its system. */
static int begins_system(const struct perf_event *events, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_tracepoint(&events[i]) && same_system(events[i].name, events[index].name))
			return 0;
	return is_tracepoint(&events[index]);
}

static void add_u32(struct buffer *out, uint32_t value)
{
	buffer_add_bytes(out, &value, sizeof value);
}

/* Its size, then a file of tracefs: empty where it cannot be read. */
static void add_file(struct buffer *out, const char *file, int is_long)
{
	struct buffer text = { NULL, 0, 0 };

	read_tracefs(&text, file);
	if (is_long)
		buffer_add_bytes(out, &(uint64_t){ text.length }, 8);
	else
		add_u32(out, (uint32_t)text.length);
	buffer_add_bytes(out, text.data, text.length);
	free(text.data);
}

/* The formats of one system's tracepoints. */
static void add_system(struct buffer *out, const struct perf_event *events, size_t count, const char *name)
{
	uint32_t formats = 0;
	char path[PATH_SIZE];

	buffer_add_bytes(out, name, strcspn(name, ":"));
	buffer_add_char(out, 0);
	for (size_t i = 0; i < count; i++)
		formats += is_tracepoint(&events[i]) && same_system(name, events[i].name);
	add_u32(out, formats);
	for (size_t i = 0; i < count; i++)
		if (is_tracepoint(&events[i]) && same_system(name, events[i].name))
			add_file(out, event_path(path, events[i].name, "format"), 1);
}

void add_tracing_data(struct buffer *out, const struct perf_event *events, size_t count)
{
	static const char magic[] = "\x17\x08\x44tracing0.6";
	uint32_t systems = 0;

	for (size_t i = 0; i < count; i++)
		systems += begins_system(events, i);
	if (!systems)
		return;
	buffer_add_bytes(out, magic, sizeof magic);
	buffer_add_char(out, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	buffer_add_char(out, sizeof(long));
	add_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	buffer_add_bytes(out, "header_page", 12);
	add_file(out, "events/header_page", 1);
	buffer_add_bytes(out, "header_event", 13);
	add_file(out, "events/header_event", 1);
	add_u32(out, 0); /* formats of the tracers' own events */
	add_u32(out, systems);
	for (size_t i = 0; i < count; i++)
		if (begins_system(events, i))
			add_system(out, events, count, events[i].name);
	add_u32(out, 0); /* the kernel's symbols, which the recorder keeps elsewhere */
	add_file(out, "printk_formats", 0);
	buffer_add_bytes(out, &(uint64_t){ 0 }, 8); /* names of threads: those of the whole host */
}
