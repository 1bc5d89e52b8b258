/* conditions.c: the conditions of a flight: a number that is too high, a line in a log, a slow server, a process killed for memory. */
#define _GNU_SOURCE
#include "conditions.h"
#include "http_probe.h"
#include "log_tail.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, SAW_SIZE = 80, SHOWN = 400 };

enum kind { ABOVE, LOG, HTTP, OOM };

/* A number of the kernel's: what is behind a text in a file. */
struct level {
	const char *name, *file, *behind, *remedy;
};

static const struct level levels[] = {
	{ "load", "/proc/loadavg", "", "mount -t proc proc /proc" },
	{ "runnable", "/proc/stat", "procs_running ", "mount -t proc proc /proc" },
	{ "cpu-pressure", "/proc/pressure/cpu", "some avg10=", "boot with psi=1" },
	{ "io-pressure", "/proc/pressure/io", "some avg10=", "boot with psi=1" },
	{ "memory-pressure", "/proc/pressure/memory", "some avg10=", "boot with psi=1" },
};

struct condition {
	enum kind kind;
	const char *text;
	/* of what lasts: how long it has to, since when it does, and whether it counts when it does */
	int64_t for_ns, since_ns;
	int is_armed, is_bad;
	const struct level *level;
	double most;
	struct log_tail log;
	struct http_probe http;
	char *oom_file;
	const char *oom_behind;
	double oom_count;
	char saw[SAW_SIZE];
};

static char wrong[PATH_SIZE + SHOWN];
static char met[PATH_SIZE + SAW_SIZE + 8];
static int64_t deaf_until_ns;

/* The number behind a text in a file. 0, or the errno. */
static int read_number(const char *file, const char *behind, double *value)
{
	static struct buffer text;
	int error = read_file(file, &text, 1 << 20);
	const char *at = !error && text.length ? strstr(text.data, behind) : NULL;
	char *end;

	if (!at)
		return error ? error : ENODATA;
	at += strlen(behind);
	*value = strtod(at, &end);
	return end == at ? ENODATA : 0;
}

/* A trailing " for SECONDS", which it cuts off. 0, or -1. */
static int take_duration(struct condition *condition, char *text)
{
	char *at = strstr(text, " for ");

	if (!at)
		return 0;
	condition->for_ns = parse_seconds_ns(at + strlen(" for "));
	*at = 0;
	return condition->for_ns > 0 ? 0 : -1;
}

static const char *begin_level(struct condition *condition, char *text)
{
	size_t length = strcspn(text, ">");
	char *end;
	int error;

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (strlen(levels[i].name) == length && !strncmp(text, levels[i].name, length))
			condition->level = &levels[i];
	if (!condition->level || !text[length])
		return "there are load>N, runnable>N, cpu-pressure>N, io-pressure>N, memory-pressure>N, log:FILE:TEXT, "
		       "http://ADDRESS[:PORT][/PATH]>TIME and oom:CGROUP";
	condition->most = strtod(text + length + 1, &end);
	if (end == text + length + 1 || *end || !(condition->most >= 0) || condition->most > 1e9)
		return "a number comes after >";
	error = read_number(condition->level->file, condition->level->behind, &(double){ 0 });
	if (!error)
		return NULL;
	format_path(wrong, sizeof wrong, "%s: %s: %s", condition->level->file, strerror(error), condition->level->remedy);
	return wrong;
}

/* Finds the counter of processes that were killed in a group: a folder, a path below a mount of control groups, or / for the host. */
static const char *begin_oom(struct condition *condition, const char *group)
{
	static const char *const places[][2] = {
		{ "%s/memory.events", "\noom_kill " }, { "/sys/fs/cgroup/%s/memory.events", "\noom_kill " },
		{ "/sys/fs/cgroup/unified/%s/memory.events", "\noom_kill " }, { "%s/memory.oom_control", "\noom_kill " },
		{ "/sys/fs/cgroup/memory/%s/memory.oom_control", "\noom_kill " },
	};
	char path[PATH_SIZE];

	if (!*group || strlen(group) > PATH_SIZE - 64)
		return "oom:CGROUP, a folder or a path below the cgroup mount; oom:/ is the host";
	condition->oom_behind = "\noom_kill ";
	condition->oom_file = checked_strdup("/proc/vmstat");
	if (!strcmp(group, "/"))
		return read_number(condition->oom_file, condition->oom_behind, &condition->oom_count)
			       ? "/proc/vmstat has no oom_kill: a kernel of 4.13 or later"
			       : NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int length = snprintf(path, sizeof path, places[i][0], group);

		if (length < 0 || (size_t)length >= sizeof path || read_number(path, places[i][1], &condition->oom_count))
			continue;
		condition->oom_file = checked_strdup(path);
		return NULL;
	}
	return "there is no such control group, or the memory controller is off in it";
}

const char *conditions_add(struct conditions *conditions, const char *text)
{
	struct condition condition = { .kind = ABOVE, .text = text, .is_armed = 1, .http.file = -1 };
	char *copy = checked_strdup(text), *colon;
	const char *trouble;

	if (strlen(text) >= PATH_SIZE)
		return "it is too long";
	if (!strncmp(text, "log:", 4)) {
		condition.kind = LOG;
		if (!(colon = strchr(copy + 4, ':')))
			return "log:FILE:TEXT, the text on one line";
		*colon = 0;
		trouble = log_begin(&condition.log, copy + 4, colon + 1);
	} else if (!strncmp(text, "oom:", 4)) {
		condition.kind = OOM;
		trouble = begin_oom(&condition, copy + 4);
	} else if (take_duration(&condition, copy)) {
		trouble = "a number of seconds comes after 'for'";
	} else if (!strncmp(text, "http://", 7)) {
		condition.kind = HTTP;
		trouble = http_parse(&condition.http, copy);
	} else {
		trouble = begin_level(&condition, copy);
	}
	if (trouble)
		return trouble;
	conditions->list = checked_realloc(conditions->list, (conditions->count + 1) * sizeof condition);
	conditions->list[conditions->count++] = condition;
	return NULL;
}

void conditions_begin(struct conditions *conditions, int64_t until_ns)
{
	deaf_until_ns = until_ns;
	for (size_t i = 0; i < conditions->count; i++)
		conditions->list[i].is_armed = until_ns == 0;
}

static const char *say_met(const struct condition *condition)
{
	snprintf(met, sizeof met, *condition->saw ? "%s (%s)" : "%s", condition->text, condition->saw);
	return met;
}

/* What lasts counts from its beginning: one that holds since before the flight, whose capture there is, does not. */
static const char *judge(struct condition *condition, int is_bad, int64_t now_ns)
{
	if (!is_bad) {
		condition->is_armed = 1;
		condition->since_ns = 0;
		return NULL;
	}
	if (!condition->since_ns)
		condition->since_ns = now_ns;
	if (!condition->is_armed || now_ns < deaf_until_ns || now_ns - condition->since_ns < condition->for_ns)
		return NULL;
	return say_met(condition);
}

static int is_above(struct condition *condition)
{
	double value;

	if (read_number(condition->level->file, condition->level->behind, &value) || value <= condition->most)
		return 0;
	snprintf(condition->saw, sizeof condition->saw, "%.2f", value);
	return 1;
}

static int has_oom(struct condition *condition)
{
	double before = condition->oom_count;

	/* a group that was made again counts from 0 */
	return !read_number(condition->oom_file, condition->oom_behind, &condition->oom_count) && condition->oom_count > before;
}

static void take_verdict(struct condition *condition, enum http_verdict verdict)
{
	if (verdict != HTTP_PENDING)
		condition->is_bad = verdict == HTTP_BAD;
}

static const char *look(struct condition *condition, int64_t now_ns)
{
	switch (condition->kind) {
	case ABOVE: return judge(condition, is_above(condition), now_ns);
	case LOG: return log_look(&condition->log) && now_ns >= deaf_until_ns ? say_met(condition) : NULL;
	case OOM: return has_oom(condition) && now_ns >= deaf_until_ns ? say_met(condition) : NULL;
	case HTTP: break;
	}
	if (condition->http.file < 0)
		take_verdict(condition, http_begin(&condition->http, now_ns, condition->saw, sizeof condition->saw));
	return judge(condition, condition->is_bad, now_ns);
}

const char *conditions_look(struct conditions *conditions, int64_t now_ns)
{
	const char *found = NULL;

	for (size_t i = 0; i < conditions->count; i++) {
		const char *text = look(&conditions->list[i], now_ns);

		found = found ? found : text;
	}
	return found;
}

size_t conditions_await(struct conditions *conditions, struct pollfd *files, size_t most, int64_t now_ns, int64_t *wait_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < conditions->count && count < most; i++) {
		const struct http_probe *http = &conditions->list[i].http;
		int64_t left = http->began_ns + http->limit_ns - now_ns;

		if (http->file < 0)
			continue;
		files[count++] = (struct pollfd){ http->file, http->wants, 0 };
		left = left > 0 ? left : 0;
		*wait_ns = left < *wait_ns ? left : *wait_ns;
	}
	return count;
}

const char *conditions_answer(struct conditions *conditions, int64_t now_ns)
{
	const char *found = NULL;

	for (size_t i = 0; i < conditions->count; i++) {
		struct condition *condition = &conditions->list[i];

		if (condition->http.file < 0)
			continue;
		take_verdict(condition, http_go_on(&condition->http, now_ns, condition->saw, sizeof condition->saw));
		if (condition->http.file < 0 && !found)
			found = judge(condition, condition->is_bad, now_ns);
	}
	return found;
}

/* conditions TEXT...: whether they can be looked at here; else 1, and what is wrong on standard output. */
int command_conditions(int argc, char **argv)
{
	struct conditions conditions = { NULL, 0 };

	for (int i = 1; i < argc; i++) {
		const char *trouble = conditions_add(&conditions, argv[i]);

		if (trouble) {
			printf("--when '%s': %s\n", argv[i], trouble);
			return 1;
		}
		if (conditions.list[i - 1].kind == LOG && conditions.list[i - 1].log.file < 0)
			warn("--when '%s': the file is not there yet, and is read from its beginning when it is", argv[i]);
	}
	return 0;
}
