/* util.c: errors, files, signals, numbers and JSON strings. */
#define _GNU_SOURCE
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

volatile sig_atomic_t stop_requested;

int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct clocks read_clocks(void)
{
	struct clocks closest = { 0, 0, 0 };
	int64_t best = INT64_MAX;

	for (int i = 0; i < 16; i++) {
		int64_t before = clock_ns(CLOCK_MONOTONIC);
		int64_t realtime = clock_ns(CLOCK_REALTIME), boottime = clock_ns(CLOCK_BOOTTIME);
		int64_t after = clock_ns(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			closest = (struct clocks){ before + best / 2, realtime, boottime };
		}
	}
	return closest;
}

void sleep_ns(int64_t ns)
{
	struct timespec wait = { ns / 1000000000, ns % 1000000000 };

	if (ns > 0)
		nanosleep(&wait, NULL);
}

static void report(const char *format, va_list arguments)
{
	char text[8192];

	vsnprintf(text, sizeof text, format, arguments);
	fputs("perfcase-helper: ", stderr);
	put_plain(stderr, text);
	fputc('\n', stderr);
}

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(format, arguments);
	va_end(arguments);
	exit(1);
}

void warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(format, arguments);
	va_end(arguments);
}

void *checked_realloc(void *pointer, size_t size)
{
	void *grown = realloc(pointer, size);

	if (!grown)
		die("out of memory (%zu bytes)", size);
	return grown;
}

char *checked_strdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(checked_realloc(NULL, size), text, size);
}

char *format_path(char *out, size_t size, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(out, size, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= size)
		die("path too long: %s", out);
	return out;
}

void buffer_add_char(struct buffer *buffer, char byte)
{
	/* one byte is kept free for the terminating zero */
	if (buffer->capacity - buffer->length < 2) {
		buffer->capacity = buffer->capacity ? buffer->capacity * 2 : 16384;
		buffer->data = checked_realloc(buffer->data, buffer->capacity);
	}
	buffer->data[buffer->length++] = byte;
	buffer->data[buffer->length] = 0;
}

void buffer_add(struct buffer *buffer, const char *text)
{
	for (; *text; text++)
		buffer_add_char(buffer, *text);
}

int read_file(const char *path, struct buffer *out, size_t limit)
{
	return read_file_at(AT_FDCWD, path, out, limit);
}

int read_file_at(int folder, const char *path, struct buffer *out, size_t limit)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC), error = 0;

	out->length = 0;
	if (fd < 0)
		return errno;
	while (out->length < limit) {
		ssize_t got;

		if (out->capacity - out->length < 4096) {
			out->capacity = out->capacity ? out->capacity * 2 : 16384;
			out->data = checked_realloc(out->data, out->capacity);
		}
		/* one byte is kept free for the terminating zero */
		got = read(fd, out->data + out->length, out->capacity - out->length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			error = errno;
		if (got <= 0)
			break;
		out->length += (size_t)got;
	}
	close(fd);
	if (out->length > limit)
		out->length = limit;
	if (out->data)
		out->data[out->length] = 0;
	return error;
}

int write_control(const char *path, const char *text)
{
	size_t length = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, length) != (ssize_t)length)
		error = errno ? errno : EIO;
	close(fd);
	return error;
}

int write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t put = write(fd, at, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		at += put;
		length -= (size_t)put;
	}
	return 0;
}

int flush_all(FILE *file)
{
	int failed;

	errno = 0;
	failed = fflush(file) || ferror(file);
	if (failed && !errno)
		errno = EIO;
	return failed ? -1 : 0;
}

int read_at(int fd, void *data, size_t length, uint64_t offset)
{
	char *at = data;

	while (length) {
		ssize_t got = pread(fd, at, length, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		at += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

static void on_stop_signal(int signal_number)
{
	(void)signal_number;
	stop_requested = stop_requested + 1;
}

void catch_stop_signals(void)
{
	/* no SA_RESTART: sleeps and reads end at once */
	struct sigaction action = { .sa_handler = on_stop_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

void wait_for_stop(void)
{
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, &before);
	while (!stop_requested)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Whether the recorder that started this process, itself or by a subshell, has ended: it names itself in the environment. */
static int recorder_is_gone(void)
{
	const char *pid = getenv("PERFCASE_RECORDER"), *state;
	struct buffer text = { NULL, 0, 0 };
	char path[64], self[32] = "";
	int gone, error;

	/* a /proc of another PID namespace knows neither by these numbers */
	if (!pid || readlink("/proc/self", self, sizeof self - 1) < 0 || atoi(self) != getpid())
		return 0;
	error = read_file(format_path(path, sizeof path, "/proc/%.20s/stat", pid), &text, 4096);
	gone = error == ENOENT || error == ESRCH ||
	       (!error && (state = strrchr(text.data, ')')) && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3)));
	free(text.data);
	return gone;
}

/* The kernel tells only of a parent that ends from now on: one that was killed just after it started this process never would. */
void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (recorder_is_gone())
		_exit(128 + SIGTERM);
}

int64_t parse_integer(const char *text)
{
	int64_t value = 0;

	if (!isdigit((unsigned char)*text))
		return -1;
	for (; isdigit((unsigned char)*text); text++) {
		if (value > (INT64_MAX - 9) / 10)
			return -1;
		value = value * 10 + (*text - '0');
	}
	return *text ? -1 : value;
}

int64_t parse_seconds_ns(const char *text)
{
	int64_t value = 0, unit = 1000000000;
	int digits = 0;

	for (; isdigit((unsigned char)*text); text++, digits++) {
		if (value > 3000000000)
			return -1;
		value = value * 10 + (*text - '0');
	}
	if (value > INT64_MAX / unit)
		return -1;
	value *= unit;
	if (*text == '.')
		for (text++; isdigit((unsigned char)*text); text++, digits++)
			value += (unit /= 10) * (*text - '0');
	if (*text && strchr("smh", *text)) {
		unit = *text == 's' ? 1 : *text == 'm' ? 60 : 3600;
		text++;
		value = value > INT64_MAX / unit ? -1 : value * unit;
	}
	return *text || !digits ? -1 : value;
}

int64_t parse_size_bytes(const char *text)
{
	static const char units[] = "KMGT";
	char digits[24];
	size_t count = strspn(text, "0123456789");
	int64_t value;
	const char *unit;

	if (!count || count >= sizeof digits)
		return -1;
	memcpy(digits, text, count);
	digits[count] = 0;
	value = parse_integer(digits);
	text += count;
	if (*text && (unit = strchr(units, toupper((unsigned char)*text)))) {
		for (const char *step = units; value >= 0 && step <= unit; step++)
			value = value > INT64_MAX / 1024 ? -1 : value * 1024;
		text++;
		if (*text == 'i')
			text++;
		if (*text == 'B')
			text++;
	}
	return *text ? -1 : value;
}

/* Length of the valid UTF-8 sequence at `at`, or 0. */
static int utf8_length(const unsigned char *at)
{
	uint32_t code, least;
	int length;

	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		length = 2, code = at[0] & 0x1f, least = 0x80;
	else if ((at[0] & 0xf0) == 0xe0)
		length = 3, code = at[0] & 0x0f, least = 0x800;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		length = 4, code = at[0] & 0x07, least = 0x10000;
	else
		return 0;
	for (int i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	return code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : length;
}

void put_plain(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		int length = utf8_length(at);
		/* U+0080 to U+009F are controls too */
		int is_control = *at < 0x20 || *at == 0x7f || (length == 2 && *at == 0xc2 && at[1] < 0xa0);

		if (!length || is_control)
			fputc('?', out);
		else
			fwrite(at, 1, (size_t)length, out);
		at += length ? length : 1;
	}
}

void json_string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', out);
	while (*at) {
		int length = utf8_length(at);

		if (!length) {
			fputs("\\ufffd", out);
			at++;
		} else if (*at == '"' || *at == '\\') {
			fprintf(out, "\\%c", *at++);
		} else if (*at < 0x20 || *at == 0x7f) {
			fprintf(out, "\\u%04x", *at++);
		} else {
			fwrite(at, 1, (size_t)length, out);
			at += length;
		}
	}
	fputc('"', out);
}

void json_array(FILE *out, char **texts)
{
	fputc('[', out);
	for (char **text = texts; *text; text++) {
		fputs(text > texts ? "," : "", out);
		json_string(out, *text);
	}
	fputs("]\n", out);
}

int proc_stat_field(const char *text, int field, long long *value)
{
	const char *at = strrchr(text, ')');

	if (!at || field < 3)
		return -1;
	at++; /* now before field 3, the state */
	for (int skip = 3; skip < field; skip++) {
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	at += strspn(at, " ");
	if (!*at)
		return -1;
	*value = field == 3 ? *at : atoll(at);
	return 0;
}
