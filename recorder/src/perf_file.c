/* perf_file.c: walks over a perf.data without a seek: it may have a gigabyte. It was recorded here, so it has this machine's byte
 * order; what is in it comes from hostile programs too. */
#define _GNU_SOURCE
#include "perf_file.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 18, BODY_MOST = 1 << 16 };

const char *perf_open(struct perf_file *perf, const char *path)
{
	/* struct perf_file_header: magic size attr_size attrs data event_types features */
	uint64_t header[13];

	memset(perf, 0, sizeof *perf);
	if (!(perf->file = fopen(path, "re")))
		return strerror(errno);
	if (setvbuf(perf->file, NULL, _IOFBF, CHUNK) || fread(header, sizeof header, 1, perf->file) != 1 ||
	    memcmp(header, "PERFILE2", 8)) {
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
	return NULL;
}

static int go_to(struct perf_file *perf, uint64_t offset)
{
	return offset > INT64_MAX || fseeko(perf->file, (off_t)offset, SEEK_SET) ? -1 : 0;
}

int perf_next(struct perf_file *perf)
{
	uint64_t skip = 0;

	/* the first record, or trace bytes before this one */
	if (perf->at >= perf->end || ((uint64_t)ftello(perf->file) != perf->at && go_to(perf, perf->at)) ||
	    fread(&perf->record, sizeof perf->record, 1, perf->file) != 1 || perf->record.size < sizeof perf->record)
		return 0;
	perf->length = perf->record.size - sizeof perf->record;
	if (fread(perf->body, 1, perf->length, perf->file) != perf->length)
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

int perf_is_cut(const struct perf_file *perf)
{
	return perf->end != UINT64_MAX && perf->at < perf->end;
}

int perf_read_at(struct perf_file *perf, uint64_t offset, void *data, size_t length)
{
	return go_to(perf, offset) || fread(data, 1, length, perf->file) != length ? -1 : 0;
}

void perf_close(struct perf_file *perf)
{
	if (perf->file)
		fclose(perf->file);
	free(perf->body);
	perf->file = NULL;
	perf->body = NULL;
}
