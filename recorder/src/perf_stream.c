/* perf_stream.c: a perf.data from its begin to its end, also one that was compressed while it was recorded. */
#define _GNU_SOURCE
#include "perf_stream.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int perf_stream_open(struct perf_stream *stream, const char *path)
{
	char name[4096];
	int in, ends[2];

	*stream = (struct perf_stream){ .file = fopen(path, "re") };
	if (stream->file || errno != ENOENT)
		return stream->file ? 0 : -1;
	if ((in = open(format_path(name, sizeof name, "%s.zst", path), O_RDONLY | O_CLOEXEC)) < 0 || pipe2(ends, O_CLOEXEC))
		return -1;
	if (!(stream->zstd = fork())) {
		if (dup2(in, STDIN_FILENO) < 0 || dup2(ends[1], STDOUT_FILENO) < 0)
			_exit(126);
		execlp("zstd", "zstd", "-q", "-d", "-c", (char *)NULL);
		_exit(127);
	}
	close(in);
	close(ends[1]);
	stream->file = fdopen(ends[0], "r");
	return stream->file && stream->zstd > 0 ? 0 : -1;
}

int perf_stream_read(struct perf_stream *stream, void *data, size_t length)
{
	if (fread(data, 1, length, stream->file) != length)
		return -1;
	stream->at += length;
	return 0;
}

int perf_stream_go(struct perf_stream *stream, uint64_t to)
{
	static char rest[1 << 16];

	if (!stream->zstd) {
		stream->at = to;
		return fseeko(stream->file, (off_t)to, SEEK_SET);
	}
	if (to < stream->at)
		return -1;
	while (stream->at < to) {
		size_t length = to - stream->at < sizeof rest ? (size_t)(to - stream->at) : sizeof rest;

		if (perf_stream_read(stream, rest, length))
			return -1;
	}
	return 0;
}

void perf_stream_close(struct perf_stream *stream)
{
	fclose(stream->file);
	if (stream->zstd > 0)
		waitpid(stream->zstd, NULL, 0);
}
