/* perf_file.c: the header, the attributes and the features of a perf.data, and the records behind them.
 * The features stand before the records, which perf does not mind: only their table has to come last. So a full disk, or the end
 * of the recorder, costs no more than the records that were not written yet: the file is made whole again and again. */
#define _GNU_SOURCE
#include "perf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Numbers of tools/perf/util/header.h. */
enum {
	FEATURE_TRACING_DATA = 1, FEATURE_HOSTNAME = 3, FEATURE_OSRELEASE = 4, FEATURE_ARCH = 6, FEATURE_NRCPUS = 7,
	FEATURE_CMDLINE = 11, FEATURE_EVENT_DESC = 12, FEATURE_CLOCKID = 23, FEATURE_CLOCK_DATA = 29,
};

/* Places in the header: magic, its size, the size of an attribute, then offset and size of attributes and records. */
enum { HEAD_ATTRS = 3, HEAD_DATA = 5, HEAD_FEATURES = 9 };

/* perf pads texts to TEXT_STEP; `squeeze` has pages of this size. */
enum { TEXT_STEP = 64, PAGE = 4096 };

void buffer_add_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
	/* one byte is kept free for the terminating zero */
	if (buffer->capacity - buffer->length <= count) {
		buffer->capacity = (buffer->length + count) * 2 + 4096;
		buffer->data = checked_realloc(buffer->data, buffer->capacity);
	}
	if (count)
		memcpy(buffer->data + buffer->length, bytes, count);
	buffer->length += count;
	buffer->data[buffer->length] = 0;
}

static void add_u32(struct buffer *out, uint32_t value)
{
	buffer_add_bytes(out, &value, sizeof value);
}

static void add_u64(struct buffer *out, uint64_t value)
{
	buffer_add_bytes(out, &value, sizeof value);
}

static void add_text(struct buffer *out, const char *text)
{
	static const char zeros[TEXT_STEP];
	size_t length = strlen(text), padded = (length / TEXT_STEP + 1) * TEXT_STEP;

	add_u32(out, (uint32_t)padded);
	buffer_add_bytes(out, text, length);
	buffer_add_bytes(out, zeros, padded - length);
}

/* Takes what was added to `out` since the last call as the feature's content; nothing added: the file has no such feature. */
static void feature_ends(struct perf_file *file, const struct buffer *out, int number)
{
	uint64_t (*last)[2] = file->features + file->feature_count;
	uint64_t begin = file->feature_count ? last[-1][0] + last[-1][1] : 0;

	if (out->length == begin)
		return;
	last[0][0] = begin;
	last[0][1] = out->length - begin;
	file->feature_bits |= 1ull << number;
	file->feature_count++;
}

static void add_event_descriptions(struct buffer *out, const struct perf_event *events, size_t count)
{
	add_u32(out, (uint32_t)count);
	add_u32(out, (uint32_t)sizeof events->attr);
	for (size_t i = 0; i < count; i++) {
		buffer_add_bytes(out, &events[i].attr, sizeof events[i].attr);
		add_u32(out, (uint32_t)events[i].count);
		add_text(out, events[i].name);
		buffer_add_bytes(out, events[i].ids, events[i].count * sizeof(uint64_t));
	}
}

/* All features, in the order of their numbers. */
static void add_features(struct perf_file *file, struct buffer *out, const struct perf_event *events, size_t count,
			 char **command)
{
	struct utsname host;
	uint32_t words = 0;

	uname(&host);
	add_tracing_data(out, events, count);
	feature_ends(file, out, FEATURE_TRACING_DATA);
	add_text(out, host.nodename);
	feature_ends(file, out, FEATURE_HOSTNAME);
	add_text(out, host.release);
	feature_ends(file, out, FEATURE_OSRELEASE);
	add_text(out, host.machine);
	feature_ends(file, out, FEATURE_ARCH);
	add_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	add_u32(out, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	feature_ends(file, out, FEATURE_NRCPUS);
	while (command[words])
		words++;
	add_u32(out, words);
	for (uint32_t i = 0; i < words; i++)
		add_text(out, command[i]);
	feature_ends(file, out, FEATURE_CMDLINE);
	add_event_descriptions(out, events, count);
	feature_ends(file, out, FEATURE_EVENT_DESC);
	add_u64(out, 1); /* the clock's resolution in ns */
	feature_ends(file, out, FEATURE_CLOCKID);
	add_u32(out, 1); /* the version of what follows */
	add_u32(out, CLOCK_MONOTONIC);
	add_u64(out, (uint64_t)clock_ns(CLOCK_REALTIME));
	add_u64(out, (uint64_t)clock_ns(CLOCK_MONOTONIC));
	feature_ends(file, out, FEATURE_CLOCK_DATA);
}

void perf_file_create(struct perf_file *file, const char *path, const struct perf_event *events, size_t count, char **command)
{
	struct buffer out = { NULL, 0, 0 }, features = { NULL, 0, 0 };
	uint64_t ids_at = sizeof file->head;

	*file = (struct perf_file){ .path = path };
	file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file->fd < 0)
		die("%s: %s", path, strerror(errno));
	memcpy(file->head, "PERFILE2", 8);
	file->head[1] = sizeof file->head;
	file->head[2] = sizeof events->attr + 16;
	for (size_t i = 0; i < count; i++)
		buffer_add_bytes(&out, events[i].ids, events[i].count * sizeof(uint64_t));
	file->head[HEAD_ATTRS] = ids_at + out.length;
	file->head[HEAD_ATTRS + 1] = count * file->head[2];
	for (size_t i = 0; i < count; i++) {
		buffer_add_bytes(&out, &events[i].attr, sizeof events[i].attr);
		add_u64(&out, ids_at);
		add_u64(&out, events[i].count * sizeof(uint64_t));
		ids_at += events[i].count * sizeof(uint64_t);
	}
	add_features(file, &features, events, count, command);
	for (size_t i = 0; i < file->feature_count; i++)
		file->features[i][0] += sizeof file->head + out.length;
	while (features.length % 8)
		buffer_add_char(&features, 0);
	/* the list of the features is behind the records, where a killed recorder has not put it: it is here as well */
	buffer_add_bytes(&features, file->features, file->feature_count * sizeof *file->features);
	add_u64(&features, file->feature_bits);
	buffer_add_bytes(&features, "PERFCASE", 8);
	file->head[HEAD_DATA] = sizeof file->head + out.length + features.length;
	if (write_all(file->fd, file->head, sizeof file->head) || write_all(file->fd, out.data, out.length) ||
	    write_all(file->fd, features.data, features.length))
		die("%s: %s", path, strerror(errno));
	free(out.data);
	free(features.data);
}

/* Where the records end, and what comes next goes. */
static int seek_end(const struct perf_file *file)
{
	off_t end = (off_t)(file->head[HEAD_DATA] + file->data_bytes);

	return ftruncate(file->fd, end) || lseek(file->fd, end, SEEK_SET) < 0 ? -1 : 0;
}

/* Says how many records and features there are; 0 of both: take all there are. */
static int write_head(struct perf_file *file, uint64_t data_bytes, uint64_t feature_bits)
{
	file->head[HEAD_DATA + 1] = data_bytes;
	file->head[HEAD_FEATURES] = feature_bits;
	return pwrite(file->fd, file->head, sizeof file->head, 0) == sizeof file->head ? 0 : -1;
}

int perf_file_add(struct perf_file *file, const struct iovec *pieces, int count)
{
	uint64_t added = 0;

	if (file->is_whole && (write_head(file, 0, 0) || seek_end(file)))
		return -1;
	file->is_whole = 0;
	for (int i = 0; i < count; i++) {
		if (write_all(file->fd, pieces[i].iov_base, pieces[i].iov_len)) {
			int error = errno ? errno : EIO;

			seek_end(file);
			errno = error;
			return -1;
		}
		added += pieces[i].iov_len;
	}
	file->last_bytes = added;
	file->data_bytes += added;
	return 0;
}

int perf_file_make_whole(struct perf_file *file, int is_last)
{
	size_t bytes = file->feature_count * sizeof *file->features;
	int error = 0;

	if (file->is_whole || (!is_last && (file->head[HEAD_DATA] + file->data_bytes) % PAGE + bytes >= PAGE))
		return 0;
	if (write_all(file->fd, file->features, bytes)) {
		/* a full disk: the last records make room for the table without which the others say less */
		error = errno ? errno : EIO;
		file->data_bytes -= file->last_bytes;
		file->last_bytes = 0;
	}
	if ((!error || (!seek_end(file) && !write_all(file->fd, file->features, bytes))) &&
	    !write_head(file, file->data_bytes, file->feature_bits))
		file->is_whole = 1;
	else if (!error)
		error = errno ? errno : EIO;
	errno = error;
	return error ? -1 : 0;
}
