/* bundle.c: writes the members below symbols/ within their limits, and what became of each object. */
#define _GNU_SOURCE
#include "bundle.h"
#include "elf_file.h"
#include "open_file.h"
#include "sha256.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const int64_t table_most_bytes = 64 << 20, full_most_bytes = 256 << 20, disk_reserve_bytes = 64 << 20;
static const char titles[] = "member\tkind\tbuild_id\tpath\tpid\tnspid\tsize_bytes\toriginal_bytes\treason\n";
static const char *const kinds[] = { "elf", "elf-table", "debug-table", "vdso", "perf-map", "jitdump" };
enum { COLUMNS = 9, NAME_SIZE = 4096, VDSO_MOST = 1 << 20 };

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '\t' || *text == '\n' || *text == '\\')
			fprintf(out, "\\%03o", (unsigned)*text);
		else
			fputc(*text, out);
	fputc('\t', out);
}

static void put_number(FILE *out, int64_t value, int is_known)
{
	if (is_known)
		fprintf(out, "%lld\t", (long long)value);
	else
		fputs("-\t", out);
}

static void put_row(FILE *out, const struct row *row)
{
	fprintf(out, "%s\t%s\t%s\t", row->member ? row->member : "-", row->kind, *row->build_id ? row->build_id : "-");
	put_text(out, row->path);
	put_number(out, row->pid, row->pid > 0);
	put_number(out, row->nspid, row->nspid > 0);
	put_number(out, row->size_bytes, row->size_bytes >= 0);
	put_number(out, row->original_bytes, row->original_bytes >= 0);
	fprintf(out, "%s\n", row->reason ? row->reason : "-");
	if (flush_all(out))
		die("objects.tsv: %s", strerror(errno));
}

static const struct row *keep(struct bundle *bundle, struct row row)
{
	if (!(bundle->count & (bundle->count - 1)))
		bundle->rows = checked_realloc(bundle->rows, (bundle->count ? bundle->count * 2 : 1) * sizeof *bundle->rows);
	bundle->rows[bundle->count] = row;
	return &bundle->rows[bundle->count++];
}

static void add(struct bundle *bundle, const char *member, const char *kind, const char *build_id, const char *path,
		pid_t pid, pid_t nspid, int64_t size_bytes, int64_t original_bytes, const char *reason)
{
	put_row(bundle->list, keep(bundle, (struct row){ member ? checked_strdup(member) : NULL, kind,
							 checked_strdup(build_id), checked_strdup(path), pid, nspid,
							 size_bytes, original_bytes, reason ? checked_strdup(reason) : NULL }));
}

static void undo_escapes(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text == '\\' && text[1] && text[2] && text[3]) {
			*to++ = (char)strtol((char[]){ text[1], text[2], text[3], 0 }, NULL, 8);
			text += 3;
		} else {
			*to++ = *text;
		}
	*to = 0;
}

static int has_member(const struct bundle *bundle, const char *member)
{
	for (size_t i = 0; i < bundle->count; i++)
		if (bundle->rows[i].member && !strcmp(bundle->rows[i].member, member))
			return 1;
	return 0;
}

/* The rows that this recording wrote before. */
static void read_rows(struct bundle *bundle, const char *path)
{
	struct buffer text = { NULL, 0, 0 };
	char *line, *rest;

	if (read_file(path, &text, 256 << 20) || !text.data)
		return;
	rest = text.data;
	for (strsep(&rest, "\n"); (line = strsep(&rest, "\n"));) {
		char *words[COLUMNS];
		size_t kind = 0, count = 0;

		while (count < COLUMNS && (words[count] = strsep(&line, "\t")))
			count++;
		while (count == COLUMNS && kind < sizeof kinds / sizeof *kinds && strcmp(kinds[kind], words[1]))
			kind++;
		if (count < COLUMNS || kind == sizeof kinds / sizeof *kinds)
			continue;
		undo_escapes(words[3]);
		if (words[0][0] != '-' && !has_member(bundle, words[0]))
			bundle->left_bytes -= parse_integer(words[6]);
		keep(bundle, (struct row){ strcmp(words[0], "-") ? checked_strdup(words[0]) : NULL, kinds[kind],
					   checked_strdup(strcmp(words[2], "-") ? words[2] : ""), checked_strdup(words[3]),
					   atoi(words[4]), atoi(words[5]), parse_integer(words[6]), parse_integer(words[7]),
					   strcmp(words[8], "-") ? checked_strdup(words[8]) : NULL });
	}
	free(text.data);
}

void bundle_open(struct bundle *bundle, char **options)
{
	char path[NAME_SIZE];

	memset(bundle, 0, sizeof *bundle);
	bundle->folder = options[0];
	bundle->is_full = !strcmp(options[1], "full");
	bundle->is_all = !strcmp(options[1], "mapped");
	bundle->all_unwind_tables = !strcmp(options[2], "unwind");
	bundle->left_bytes = parse_integer(options[3]);
	bundle->object_limit = bundle->is_full ? full_most_bytes : table_most_bytes;
	for (const char *const *name = (const char *const[]){ "", "/elf", "/debug", "/perf-map", "/jitdump", NULL }; *name; name++)
		if (mkdir(format_path(path, sizeof path, "%s%s", bundle->folder, *name), 0700) && errno != EEXIST)
			die("%s: %s", path, strerror(errno));
	read_rows(bundle, format_path(path, sizeof path, "%s/objects.tsv", bundle->folder));
	if (!(bundle->list = fopen(path, "ae")))
		die("%s: %s", path, strerror(errno));
	if (!ftello(bundle->list))
		fputs(titles, bundle->list);
	if (flush_all(bundle->list))
		die("%s: %s", path, strerror(errno));
}

const struct row *bundle_find(const struct bundle *bundle, const char *build_id, const char *path)
{
	for (size_t i = 0; i < bundle->count; i++) {
		const struct row *row = &bundle->rows[i];

		if (row->member && !strncmp(row->kind, "elf", 3) &&
		    (*build_id ? !strcmp(row->build_id, build_id) : !strcmp(row->path, path)))
			return row;
	}
	return NULL;
}

int bundle_has_path(const struct bundle *bundle, const char *kind, const char *path, pid_t pid)
{
	for (size_t i = 0; i < bundle->count; i++) {
		const struct row *row = &bundle->rows[i];

		if (!strncmp(row->kind, kind, strlen(kind)) && (!pid || row->pid == pid) && (!path || !strcmp(row->path, path)))
			return 1;
	}
	return 0;
}

/* Bytes that one more member may have: the recorder must not fill the host's disk. */
static int64_t room(const struct bundle *bundle)
{
	int64_t bytes = bundle->left_bytes < bundle->object_limit ? bundle->left_bytes : bundle->object_limit, free_bytes;
	struct statvfs disk;

	if (!statvfs(bundle->folder, &disk)) {
		free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize - disk_reserve_bytes;
		bytes = bytes < free_bytes ? bytes : free_bytes;
	}
	return bytes < 0 ? 0 : bytes;
}

static const char *copy_bytes(int in, int out, int64_t limit_bytes, uint64_t *size_bytes)
{
	static char chunk[1 << 16];

	for (*size_bytes = 0;;) {
		ssize_t got = pread(in, chunk, sizeof chunk, (off_t)*size_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return strerror(errno);
		if (!got)
			return NULL;
		*size_bytes += (uint64_t)got;
		if (*size_bytes > (uint64_t)limit_bytes)
			return "too large";
		if (write_all(out, chunk, (size_t)got))
			return strerror(errno);
	}
}

static int is_elf_kind(const char *kind)
{
	return !strncmp(kind, "elf", 3);
}

static int is_same_content(const char *left, const char *right)
{
	static char chunks[2][1 << 16];
	int files[2] = { open(left, O_RDONLY | O_CLOEXEC), open(right, O_RDONLY | O_CLOEXEC) };
	int is_same = files[0] >= 0 && files[1] >= 0;
	ssize_t got = 1;

	for (off_t at = 0; is_same && got > 0; at += got) {
		got = pread(files[0], chunks[0], sizeof chunks[0], at);
		is_same = got >= 0 && pread(files[1], chunks[1], sizeof chunks[1], at) == got &&
			  !memcmp(chunks[0], chunks[1], (size_t)got);
	}
	for (int i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	return is_same;
}

/* The member that has this content already, of objects without a build id: a copy in another container. */
static const char *find_same(const struct bundle *bundle, const char *part, const char *kind, uint64_t size_bytes,
			     int64_t original_bytes)
{
	char name[NAME_SIZE];

	for (size_t i = 0; i < bundle->count; i++) {
		const struct row *row = &bundle->rows[i];

		if (row->member && !*row->build_id && !strcmp(row->kind, kind) && row->size_bytes == (int64_t)size_bytes &&
		    row->original_bytes == original_bytes &&
		    is_same_content(part, format_path(name, sizeof name, "%s/%s", bundle->folder, row->member)))
			return row->member;
	}
	return NULL;
}

/* Writes a member, whole or not at all, and its row. */
static void write_member(struct bundle *bundle, int file, int64_t original_bytes, const char *kind, const char *member,
			 const char *build_id, const char *path, pid_t pid, pid_t nspid)
{
	char name[NAME_SIZE], part[NAME_SIZE], reason[128];
	int64_t limit_bytes = room(bundle);
	uint64_t size_bytes = 0;
	const char *trouble, *same;
	int out = open(format_path(part, sizeof part, "%s/.part", bundle->folder), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (out < 0)
		die("%s: %s", part, strerror(errno));
	if (!strcmp(kind, "elf-table") || !strcmp(kind, "debug-table"))
		trouble = elf_write_table(file, out, (uint64_t)limit_bytes, bundle->all_unwind_tables, &size_bytes);
	else if (original_bytes > limit_bytes)
		trouble = "too large", size_bytes = (uint64_t)original_bytes;
	else
		trouble = copy_bytes(file, out, limit_bytes, &size_bytes);
	if (close(out) && !trouble)
		trouble = strerror(errno);
	if (!trouble && is_elf_kind(kind) && !*build_id && (same = find_same(bundle, part, kind, size_bytes, original_bytes))) {
		unlink(part);
		add(bundle, same, kind, build_id, path, pid, nspid, (int64_t)size_bytes, original_bytes, NULL);
		return;
	}
	if (!trouble && rename(part, format_path(name, sizeof name, "%s/%s", bundle->folder, member)))
		trouble = strerror(errno);
	if (!trouble) {
		bundle->left_bytes -= (int64_t)size_bytes;
		add(bundle, member, kind, build_id, path, pid, nspid, (int64_t)size_bytes, original_bytes, NULL);
		return;
	}
	unlink(part);
	snprintf(reason, sizeof reason, "%s", trouble);
	if (!strcmp(trouble, "too large")) {
		if (size_bytes > (uint64_t)bundle->object_limit)
			snprintf(reason, sizeof reason, "too large: %llu bytes", (unsigned long long)size_bytes);
		else
			snprintf(reason, sizeof reason, "budget");
	}
	add(bundle, NULL, kind, build_id, path, pid, nspid, -1, original_bytes, reason);
}

int bundle_object(struct bundle *bundle, int file, const struct stat *info, const char *build_id, const char *path)
{
	const char *kind = bundle->is_full ? "elf" : "elf-table";
	char member[128], hash[65];
	struct sha256 sum;

	if (*build_id) {
		snprintf(member, sizeof member, "elf/%s", build_id);
	} else {
		sha256_start(&sum);
		sha256_add(&sum, path, strlen(path));
		sha256_finish(&sum, hash);
		snprintf(member, sizeof member, "elf/path-%.16s", hash);
	}
	write_member(bundle, file, info->st_size, kind, member, build_id, path, 0, 0);
	return bundle->rows[bundle->count - 1].member != NULL;
}

void bundle_copy(struct bundle *bundle, int file, const struct stat *info, const char *kind, const char *member,
		 const char *path, pid_t pid, pid_t nspid)
{
	write_member(bundle, file, info->st_size, kind, member, "", path, pid, nspid);
}

size_t bundle_drop(struct bundle *bundle, int (*is_wanted)(const struct row *row, const void *what), const void *what)
{
	char name[NAME_SIZE], part[NAME_SIZE];
	struct row *dropped = checked_realloc(NULL, (bundle->count + 1) * sizeof *dropped);
	size_t kept_count = 0, dropped_count = 0;
	FILE *list = fopen(format_path(part, sizeof part, "%s/.part", bundle->folder), "we");

	if (list)
		fputs(titles, list);
	for (size_t i = 0; list && i < bundle->count; i++)
		if (is_wanted(&bundle->rows[i], what))
			put_row(list, &bundle->rows[i]);
	/* until the new list is there, the old one and all members stay */
	if (!list || ferror(list) | fclose(list) || rename(part, format_path(name, sizeof name, "%s/objects.tsv", bundle->folder))) {
		warn("%s: %s: what no sample touches stays in", part, strerror(errno));
		free(dropped);
		return 0;
	}
	fclose(bundle->list);
	if (!(bundle->list = fopen(name, "ae")))
		die("%s: %s", name, strerror(errno));
	for (size_t i = 0; i < bundle->count; i++)
		if (is_wanted(&bundle->rows[i], what))
			bundle->rows[kept_count++] = bundle->rows[i];
		else
			dropped[dropped_count++] = bundle->rows[i];
	bundle->count = kept_count;
	for (size_t i = 0; i < dropped_count; i++)
		if (dropped[i].member && !has_member(bundle, dropped[i].member) &&
		    !unlink(format_path(name, sizeof name, "%s/%s", bundle->folder, dropped[i].member)))
			bundle->left_bytes += dropped[i].size_bytes; /* once: the next row of it finds no file */
	free(dropped);
	return dropped_count;
}

void bundle_again(struct bundle *bundle, const struct row *row, const char *path)
{
	add(bundle, row->member, row->kind, row->build_id, path, 0, 0, row->size_bytes, row->original_bytes, NULL);
}

void bundle_missing(struct bundle *bundle, const char *kind, const char *build_id, const char *path, const char *reason)
{
	if (is_elf_kind(kind))
		kind = bundle->is_full ? "elf" : "elf-table";
	add(bundle, NULL, kind, build_id, path, 0, 0, -1, -1, reason);
}

static int has_debug_file(const struct bundle *bundle, const char *build_id)
{
	for (size_t i = 0; i < bundle->count; i++)
		if (!strcmp(bundle->rows[i].kind, "debug-table") && !strcmp(bundle->rows[i].build_id, build_id))
			return 1;
	return 0;
}

static int lacks_symtab(const struct bundle *bundle, const char *member)
{
	char name[NAME_SIZE];
	int file = open(format_path(name, sizeof name, "%s/%s", bundle->folder, member), O_RDONLY | O_CLOEXEC), lacks;

	if (file < 0)
		return 0;
	lacks = !elf_has_symtab(file);
	close(file);
	return lacks;
}

void bundle_debug_files(struct bundle *bundle)
{
	size_t count = bundle->count;

	for (size_t i = 0; i < count; i++) {
		const char *id = bundle->rows[i].build_id, *member = bundle->rows[i].member;
		char path[NAME_SIZE], name[NAME_SIZE], hex[ELF_BUILD_ID_HEX];
		struct stat info;
		int file;

		if (!member || !is_elf_kind(bundle->rows[i].kind) || strlen(id) < 3 || has_debug_file(bundle, id) ||
		    !lacks_symtab(bundle, member))
			continue;
		format_path(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
		if ((file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0)
			continue;
		if (!fstat(file, &info) && S_ISREG(info.st_mode) && !elf_build_id(file, hex) && !strcmp(hex, id))
			write_member(bundle, file, info.st_size, "debug-table",
				     format_path(name, sizeof name, "debug/%s", id), id, path, 0, 0);
		close(file);
	}
}

static void put_vdso(struct bundle *bundle, const char *member, const char *path, const char *image, size_t size)
{
	char name[NAME_SIZE], hex[ELF_BUILD_ID_HEX];
	int out = open(format_path(name, sizeof name, "%s/%s", bundle->folder, member), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (out < 0 || write_all(out, image, size))
		die("%s: %s", name, strerror(errno));
	if (elf_build_id(out, hex))
		unlink(name);
	else
		add(bundle, member, "vdso", hex, path, 0, 0, (int64_t)size, (int64_t)size, NULL);
	close(out);
}

/* Our own vDSO is every process's of our word size. */
void bundle_vdso(struct bundle *bundle)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct buffer text = { NULL, 0, 0 };
	unsigned long long start, end;

	if (!image || read_file("/proc/self/maps", &text, MAPS_LIMIT) || !text.data)
		return;
	for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));)
		if (strstr(line, "[vdso]") && sscanf(line, "%llx-%llx", &start, &end) == 2 && start == (uintptr_t)image &&
		    end - start <= VDSO_MOST)
			put_vdso(bundle, "vdso", "[vdso]", image, end - start);
	free(text.data);
}

void bundle_vdso32(struct bundle *bundle, pid_t pid, const char *maps)
{
	static char image[VDSO_MOST];
	const char *line = strstr(maps, "[vdso]\n");
	unsigned long long start, end;
	char path[64];
	int memory;

	if (sizeof(void *) == 4 || !line || bundle_has_path(bundle, "vdso", "[vdso32]", 0))
		return;
	while (line > maps && line[-1] != '\n')
		line--;
	if (sscanf(line, "%llx-%llx", &start, &end) != 2 || end > UINT32_MAX || end <= start || end - start > VDSO_MOST)
		return;
	memory = open(format_path(path, sizeof path, "/proc/%d/mem", (int)pid), O_RDONLY | O_CLOEXEC);
	if (memory >= 0 && !read_at(memory, image, end - start, start) && !memcmp(image, "\177ELF\1", 5))
		put_vdso(bundle, "vdso32", "[vdso32]", image, end - start);
	if (memory >= 0)
		close(memory);
}
