/* manifest.c: the parts of manifest.json that are many small values: the host, and the state of each source. */
#define _GNU_SOURCE
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20, PATH_SIZE = 4096 };

/* The first line of a file; empty if there is none. The caller frees it. */
static char *first_line(const char *path)
{
	struct buffer text = { NULL, 0, 0 };

	if (read_file(path, &text, FILE_MOST) || !text.data) {
		free(text.data);
		return checked_strdup("");
	}
	text.data[strcspn(text.data, "\n")] = 0;
	return text.data;
}

/* What stands behind a name and its separators in a file of such lines; NULL if no line begins with it. The caller frees it. */
static char *value_of(const char *path, const char *name, const char *separators)
{
	struct buffer text = { NULL, 0, 0 };
	char *found = NULL;

	if (!read_file(path, &text, FILE_MOST) && text.data)
		for (char *rest = text.data, *line; !found && (line = strsep(&rest, "\n"));) {
			size_t length = strlen(name);

			if (!strncmp(line, name, length) && strchr(separators, line[length]) && line[length])
				found = checked_strdup(line + length + strspn(line + length, separators));
		}
	free(text.data);
	return found;
}

static void put_text(const char *text)
{
	if (text && *text)
		json_string(stdout, text);
	else
		fputs("null", stdout);
}

static void put_number(const char *text)
{
	fputs(text && *text && !text[strspn(text, "0123456789")] ? text : "null", stdout);
}

static void put_count(long long count)
{
	if (count > 0)
		printf("%lld", count);
	else
		fputs("null", stdout);
}

/* The model by its name (x86), or by the number of the part (Arm). */
static void put_cpu_model(void)
{
	char *model = value_of("/proc/cpuinfo", "model name", "\t: "), *part = NULL, named[64] = "";

	if ((!model || !*model) && (part = value_of("/proc/cpuinfo", "CPU part", "\t: ")))
		snprintf(named, sizeof named, "CPU part %s", part);
	put_text(model && *model ? model : named);
	free(model);
	free(part);
}

static long long online_cpus(void)
{
	struct buffer text = { NULL, 0, 0 };
	long long count = 0;

	if (!read_file("/proc/stat", &text, 16 * FILE_MOST) && text.data)
		for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));)
			count += !strncmp(line, "cpu", 3) && isdigit((unsigned char)line[3]);
	free(text.data);
	return count;
}

/* host: the manifest's "host". */
int command_host(int argc, char **argv)
{
	const uint16_t one = 1;
	struct utsname name;
	char *os = value_of("/etc/os-release", "PRETTY_NAME", "=\""), *boot = first_line("/proc/sys/kernel/random/boot_id"),
	     *memory = value_of("/proc/meminfo", "MemTotal", ": ");

	(void)argc, (void)argv;
	if (uname(&name))
		die("uname failed");
	if (os)
		os[strcspn(os, "\"")] = 0;
	fputs("{\"hostname\":", stdout), put_text(name.nodename);
	fputs(",\"kernel_release\":", stdout), put_text(name.release);
	fputs(",\n    \"kernel_version\":", stdout), put_text(name.version);
	fputs(",\"machine\":", stdout), put_text(name.machine);
	fputs(",\"os\":", stdout), put_text(os);
	fputs(",\n    \"boot_id\":", stdout), put_text(boot);
	fputs(",\n    \"cpu_count\":", stdout), put_count(online_cpus());
	fputs(",\"cpu_model\":", stdout), put_cpu_model();
	fputs(",\n    \"page_size_bytes\":", stdout), put_count(sysconf(_SC_PAGESIZE));
	fputs(",\n    \"clock_ticks_per_s\":", stdout), put_count(sysconf(_SC_CLK_TCK));
	fputs(",\n    \"memory_bytes\":", stdout), put_count(memory ? atoll(memory) * 1024 : 0);
	printf(",\"byte_order\":\"%s\"}\n", *(const char *)&one ? "little" : "big");
	free(os);
	free(boot);
	free(memory);
	return 0;
}

/* The last value of a source's key in lines of "NAME KEY VALUE"; empty if there is none. The caller frees it. */
static char *source_value(const char *states, const char *name, const char *key)
{
	char wanted[128];
	const char *found = "";
	int length = snprintf(wanted, sizeof wanted, "%s %s ", name, key);

	for (const char *line = states; line && *line; line = *line ? line + 1 : line) {
		if (!strncmp(line, wanted, (size_t)length))
			found = line + length;
		line = strchrnul(line, '\n');
	}
	return strndup(found, strcspn(found, "\n"));
}

static void put_source(const char *folder, const char *states, const char *name, const char *kind)
{
	/* a line holds what --salvage of a flight looks for, see flight.sh */
	static const struct {
		const char *before, *key;
		void (*put)(const char *);
	} values[] = {
		{ "\",\n     \"reason\":", "reason", put_text },
		{ ",\"remedy\":", "remedy", put_text },
		{ ",\n     \"tool\":", "tool", put_text },
		{ ",\"tool_version\":", "tool_version", put_text },
		{ ",\n     \"command\":", NULL, NULL },
		{ ",\"clock\":", "clock", put_text },
		{ ",\n     \"started_monotonic_ns\":", "started", put_number },
		{ ",\n     \"ended_monotonic_ns\":", "ended", put_number },
		{ ",\n     \"event_count\":", "events", put_number },
		{ ",\"lost_events\":", "lost", put_number },
	};
	char path[PATH_SIZE], *status = source_value(states, name, "status");

	printf("    {\"name\":\"%s\",\"kind\":\"%s\",\"status\":\"%s", name, kind, status);
	free(status);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		/* what `run` wrote of its command is JSON already */
		char *value = values[i].key ? source_value(states, name, values[i].key)
					    : first_line(format_path(path, sizeof path, "%s/%s.command", folder, name));

		fputs(values[i].before, stdout);
		if (values[i].put)
			values[i].put(value);
		else
			fputs(*value ? value : "[]", stdout);
		free(value);
	}
	fputc('}', stdout);
}

/* sources FOLDER NAME...: the manifest's "sources" from the recorder's .state, of those that have begun. */
int command_sources(int argc, char **argv)
{
	struct buffer states = { NULL, 0, 0 };
	char path[PATH_SIZE];
	int count = 0, error;

	if (argc < 2)
		die("usage: sources FOLDER NAME...");
	/* before the first source there is none */
	error = read_file(format_path(path, sizeof path, "%s/sources", argv[1]), &states, FILE_MOST);
	if (error && error != ENOENT)
		die("%s: %s", path, strerror(error));
	for (int i = 2; i < argc; i++) {
		char *kind = source_value(states.data, argv[i], "kind");

		if (*kind) {
			fputs(count++ ? ",\n" : "", stdout);
			put_source(argv[1], states.data, argv[i], kind);
		}
		free(kind);
	}
	fputs(count ? "\n" : "", stdout);
	free(states.data);
	return 0;
}
