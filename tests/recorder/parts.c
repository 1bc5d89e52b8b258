/* parts.c: calls the parts of perfcase-helper that it has no subcommand for, so that tests can hold them to other tools.
 * usage: parts sha256 FILE | parts elf-table IN OUT [unwind] */
#include "elf_table.h"
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

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "sha256"))
		return sum(argv[2]);
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "elf-table"))
		return table(argv[2], argv[3], argc == 5 && !strcmp(argv[4], "unwind"));
	die("usage: parts sha256 FILE | parts elf-table IN OUT [unwind]");
}
