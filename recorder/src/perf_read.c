/* perf_read.c: walks over a perf.data in one pass: it may have a gigabyte. It was recorded here, so it has this machine's byte
 * order; what is in it comes from hostile programs too. */
#define _GNU_SOURCE
#include "perf_read.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 104, HEAD_MOST = 64 << 20, BODY_MOST = 1 << 16 };

const char *perf_open(struct perf_reader *perf, const char *path)
{
	/* struct perf_file_header: magic size attr_size attrs data event_types features */
	uint64_t header[HEADER_BYTES / 8];

	memset(perf, 0, sizeof *perf);
	if (perf_stream_open(&perf->stream, path))
		return strerror(errno);
	if (perf_stream_read(&perf->stream, header, sizeof header) || memcmp(header, "PERFILE2", 8) || header[5] < HEADER_BYTES ||
	    header[5] > HEAD_MOST) {
		perf_close(perf);
		return "not a perf.data of this machine";
	}
	perf->body = checked_realloc(NULL, BODY_MOST);
	perf->attr_size = header[2];
	perf->attrs_at = header[3];
	perf->attrs_bytes = header[4];
	perf->at = header[5];
	perf->end = header[6] ? perf->at + header[6] : UINT64_MAX;
	perf->features = header[9];
	perf->head = checked_realloc(NULL, perf->at);
	perf->head_bytes = perf->at;
	memcpy(perf->head, header, sizeof header);
	if (perf_stream_read(&perf->stream, perf->head + HEADER_BYTES, perf->at - HEADER_BYTES)) {
		perf_close(perf);
		return "cut before its first record";
	}
	return NULL;
}

int perf_next(struct perf_reader *perf)
{
	uint64_t skip = 0;

	/* trace bytes may lie before this one */
	if (perf->at >= perf->end || perf->at > INT64_MAX || (perf->stream.at != perf->at && perf_stream_go(&perf->stream, perf->at)) ||
	    perf_stream_read(&perf->stream, &perf->record, sizeof perf->record) || perf->record.size < sizeof perf->record)
		return 0;
	perf->length = perf->record.size - sizeof perf->record;
	if (perf_stream_read(&perf->stream, perf->body, perf->length))
		return 0;
	perf->body[perf->length] = 0;
	if (perf->record.type == RECORD_AUXTRACE) {
		if (perf->length < sizeof skip)
			return 0;
		memcpy(&skip, perf->body, sizeof skip);
		if (skip > INT64_MAX / 2)
			return 0;
	}
	perf->at += perf->record.size + skip;
	return 1;
}

int perf_is_cut(const struct perf_reader *perf)
{
	return perf->end != UINT64_MAX && perf->at < perf->end;
}

int perf_read_at(struct perf_reader *perf, uint64_t offset, void *data, size_t length)
{
	if (offset <= perf->head_bytes && length <= perf->head_bytes - offset) {
		memcpy(data, perf->head + offset, length);
		return 0;
	}
	return offset > INT64_MAX || perf_stream_go(&perf->stream, offset) || perf_stream_read(&perf->stream, data, length) ? -1 : 0;
}

void perf_close(struct perf_reader *perf)
{
	if (perf->stream.file)
		perf_stream_close(&perf->stream);
	free(perf->body);
	free(perf->head);
	*perf = (struct perf_reader){ .body = NULL };
}
