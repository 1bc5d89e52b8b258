/* parts.c: calls the parts of perfcase-helper that it has no subcommand for, so that tests can hold them to other tools.
 * usage: parts sha256 FILE | parts elf-table IN OUT [unwind] | parts side BYTES IN OUT */
#include "elf_table.h"
#include "events.h"
#include "sha256.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Prints what sha256_file makes of FILE. */
static int sum(const char *path)
{
	char hex[65];
	int error = sha256_file(path, hex);

	if (error)
		die("%s: %s", path, strerror(error));
	puts(hex);
	return 0;
}

/* Writes the table-only form of IN to OUT; prints the build id, or -. */
static int table(const char *from, const char *to, int all_unwind_tables)
{
	char hex[ELF_BUILD_ID_HEX];
	const char *trouble;
	uint64_t size_bytes;
	int in, out;

	if ((in = open(from, O_RDONLY)) < 0)
		die("%s: %s", from, strerror(errno));
	if ((trouble = elf_build_id(in, hex)))
		die("%s: %s", from, trouble);
	if ((out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0)
		die("%s: %s", to, strerror(errno));
	if ((trouble = elf_write_table(in, out, INT64_MAX, all_unwind_tables, &size_bytes)))
		die("%s: %s", from, trouble);
	puts(*hex ? hex : "-");
	return 0;
}

/* Gives the records of IN one after the other to a memory of so many bytes; writes what is left to OUT, prints what was forgotten. */
static int side(const char *bytes, const char *from, const char *to)
{
	struct side side = { .most_bytes = (size_t)parse_integer(bytes) };
	struct buffer text = { NULL, 0, 0 };
	int out;

	if (read_file(from, &text, 1 << 26))
		die("%s: %s", from, strerror(errno));
	for (size_t at = 0; at < text.length;) {
		struct iovec piece = { text.data + at, ((struct perf_event_header *)(text.data + at))->size };

		side_add(&side, &piece, 1);
		at += piece.iov_len;
	}
	if ((out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0 || write_all(out, side.records.data, side.records.length))
		die("%s: %s", to, strerror(errno));
	printf("%llu\n", (unsigned long long)side.forgotten);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "sha256"))
		return sum(argv[2]);
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "elf-table"))
		return table(argv[2], argv[3], argc == 5 && !strcmp(argv[4], "unwind"));
	if (argc == 5 && !strcmp(argv[1], "side"))
		return side(argv[2], argv[3], argv[4]);
	die("usage: parts sha256 FILE | parts elf-table IN OUT [unwind] | parts side BYTES IN OUT");
}
