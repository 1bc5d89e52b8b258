/* elf_table.c: the table-only form of an ELF file, as the archive keeps it: all headers, the symbol tables, notes and unwind
 * tables. Every other section becomes SHT_NOBITS, so that addresses, file offsets of segments and section indices stay. */
#define _GNU_SOURCE
#include "elf_table.h"
#include "elf_file.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_LIMIT = 64 << 10, UNWIND_SMALL = 4 << 20, ALIGN_MOST = 4096, NOTE_SEGMENTS_MOST = 32 };

/* A piece of the original that is kept, and where. */
struct piece {
	uint64_t from, size, to;
	size_t section; /* SIZE_MAX: a note segment of a file without section headers */
};

struct table {
	struct elf_file elf;
	struct piece *pieces;
	size_t count;
	uint64_t sections_at, total_bytes;
};

void to_hex(const unsigned char *bytes, size_t count, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*hex++ = digits[bytes[i] >> 4];
		*hex++ = digits[bytes[i] & 15];
	}
	*hex = 0;
}

/* Looks for the build id among notes: name size, description size, type, name, description, each padded. */
static int find_build_id(const struct elf_file *elf, const unsigned char *notes, size_t length, size_t align, char *hex)
{
	static const struct elf_field word[3] = { { 0, 4, 0, 4 }, { 4, 4, 4, 4 }, { 8, 4, 8, 4 } };
	size_t at = 0;

	while (length - at >= 12) {
		uint64_t name = elf_get(elf, notes + at, word[0]), text = elf_get(elf, notes + at, word[1]);
		uint64_t type = elf_get(elf, notes + at, word[2]);
		uint64_t text_at = (12 + name + align - 1) / align * align, next;

		next = (text_at + text + align - 1) / align * align;
		if (text_at + text > length - at)
			return 0;
		if (type == 3 && name == 4 && !memcmp(notes + at + 12, "GNU", 4) && text && text <= ELF_BUILD_ID_MOST) {
			to_hex(notes + at + text_at, text, hex);
			return 1;
		}
		if (next > length - at)
			return 0;
		at += next;
	}
	return 0;
}

static int notes_have_build_id(const struct elf_file *elf, uint64_t offset, uint64_t size, char *hex)
{
	unsigned char *notes;
	int found = 0;

	if (!size || size > NOTES_LIMIT || offset > elf->size_bytes || size > elf->size_bytes - offset)
		return 0;
	notes = checked_realloc(NULL, size);
	if (!read_at(elf->fd, notes, size, offset))
		found = find_build_id(elf, notes, size, 4, hex) || find_build_id(elf, notes, size, 8, hex);
	free(notes);
	return found;
}

const char *elf_build_id(int file, char hex[ELF_BUILD_ID_HEX])
{
	struct elf_file elf;
	const char *trouble = elf_open(&elf, file);
	size_t looked = 0;

	hex[0] = 0;
	/* the segments first: that is what the kernel reads */
	for (size_t i = 0; !trouble && !*hex && i < elf.segment_count && looked < NOTE_SEGMENTS_MOST; i++) {
		const unsigned char *segment = elf_segment(&elf, i);

		if (elf_get(&elf, segment, p_type) == PT_NOTE && ++looked)
			notes_have_build_id(&elf, elf_get(&elf, segment, p_offset), elf_get(&elf, segment, p_filesz), hex);
	}
	for (size_t i = 0; !trouble && !*hex && i < elf.section_count && looked < 2 * NOTE_SEGMENTS_MOST; i++) {
		const unsigned char *section = elf_section(&elf, i);

		if (elf_get(&elf, section, sh_type) == SHT_NOTE && ++looked)
			notes_have_build_id(&elf, elf_get(&elf, section, sh_offset), elf_get(&elf, section, sh_size), hex);
	}
	elf_close(&elf);
	return trouble;
}

int elf_has_symtab(int file)
{
	struct elf_file elf;
	int found = 0;

	if (!elf_open(&elf, file))
		for (size_t i = 0; i < elf.section_count; i++)
			found |= elf_get(&elf, elf_section(&elf, i), sh_type) == SHT_SYMTAB;
	elf_close(&elf);
	return found;
}

static int is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return 1;
	return 0;
}

/* Whether a section keeps its bytes, whatever links to it. */
static int is_kept(const struct elf_file *elf, size_t index, int all_unwind_tables)
{
	static const char *const unwind[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".zdebug_frame",
					      ".ARM.extab", NULL };
	/* entries of .plt are named after what .rela.plt says of them */
	static const char *const others[] = { ".gnu_debugdata", ".gnu_debuglink", ".gnu_debugaltlink", ".interp", ".rela.plt",
					      ".rel.plt", NULL };
	const unsigned char *section = elf_section(elf, index);
	uint64_t type = elf_get(elf, section, sh_type), size = elf_get(elf, section, sh_size);
	const char *name = elf_section_name(elf, index);

	if (type == SHT_NULL || type == SHT_NOBITS)
		return 0;
	if (index == elf_get(elf, elf->header, e_shstrndx) || type == SHT_SYMTAB || type == SHT_DYNSYM)
		return 1;
	if (type == SHT_NOTE)
		return size <= NOTES_LIMIT;
	if (is_one_of(name, unwind) || (type == SHT_ARM_EXIDX && elf->header[18 + elf->is_big] == 40))
		return all_unwind_tables || size <= UNWIND_SMALL;
	return is_one_of(name, others);
}

static void add_piece(struct table *table, uint64_t from, uint64_t size, size_t section)
{
	table->pieces = checked_realloc(table->pieces, (table->count + 1) * sizeof *table->pieces);
	table->pieces[table->count++] = (struct piece){ from, size, 0, section };
}

/* Chooses the pieces. NULL, or why the file cannot be used. */
static const char *choose_pieces(struct table *table, int all_unwind_tables)
{
	struct elf_file *elf = &table->elf;
	unsigned char *keep = calloc(elf->section_count + 1, 1);
	const char *trouble = NULL;

	if (!keep)
		die("out of memory");
	for (size_t i = 0; i < elf->section_count; i++) {
		const unsigned char *section = elf_section(elf, i);
		uint64_t type = elf_get(elf, section, sh_type), names = elf_get(elf, section, sh_link);

		keep[i] |= (unsigned char)is_kept(elf, i, all_unwind_tables);
		if ((type == SHT_SYMTAB || type == SHT_DYNSYM) && names < elf->section_count &&
		    elf_get(elf, elf_section(elf, names), sh_type) == SHT_STRTAB)
			keep[names] = 1;
	}
	for (size_t i = 0; !trouble && i < elf->section_count; i++) {
		uint64_t from = elf_get(elf, elf_section(elf, i), sh_offset), size = elf_get(elf, elf_section(elf, i), sh_size);

		if (!keep[i])
			continue;
		if (from > elf->size_bytes || size > elf->size_bytes - from)
			trouble = "truncated ELF file";
		add_piece(table, from, size, i);
	}
	free(keep);
	for (size_t i = 0; !elf->section_count && i < elf->segment_count && table->count < NOTE_SEGMENTS_MOST; i++) {
		const unsigned char *segment = elf_segment(elf, i);
		uint64_t from = elf_get(elf, segment, p_offset), size = elf_get(elf, segment, p_filesz);

		if (elf_get(elf, segment, p_type) == PT_NOTE && size <= NOTES_LIMIT && from <= elf->size_bytes &&
		    size <= elf->size_bytes - from)
			add_piece(table, from, size, SIZE_MAX);
	}
	return trouble;
}

static uint64_t align_up(uint64_t at, uint64_t align)
{
	if (!align || align > ALIGN_MOST || align & (align - 1))
		align = 1;
	return (at + align - 1) & ~(align - 1);
}

/* Gives each piece its place: after the headers, in the order of sections. Sections may overlap and a file may be sparse:
 * their sum has no bound, so it ends at the limit. */
static void lay_out(struct table *table, uint64_t limit_bytes)
{
	struct elf_file *elf = &table->elf;
	uint64_t at = elf->header_bytes + elf->segment_count * elf->segment_bytes;

	for (size_t i = 0; i < table->count; i++) {
		struct piece *piece = &table->pieces[i];

		at = align_up(at, piece->section == SIZE_MAX ? 8 : elf_get(elf, elf_section(elf, piece->section), sh_align));
		piece->to = at;
		if (at > limit_bytes || piece->size > limit_bytes - at) {
			table->total_bytes = at + piece->size;
			return;
		}
		at += piece->size;
	}
	table->sections_at = align_up(at, 8);
	table->total_bytes = table->sections_at + elf->section_count * elf->section_bytes;
}

/* Loadable segments stay as they were: their file offsets say which address a byte of the original has. Others that lie in
 * kept pieces are moved with them; the rest has no bytes any more. */
static void move_segment(const struct table *table, unsigned char *segment)
{
	const struct elf_file *elf = &table->elf;
	uint64_t type = elf_get(elf, segment, p_type), from = elf_get(elf, segment, p_offset);
	uint64_t size = elf_get(elf, segment, p_filesz), got = 0, to = 0;

	if (type != PT_DYNAMIC && type != PT_INTERP && type != PT_NOTE && type != PT_PROPERTY && type != PT_EH_FRAME &&
	    type != PT_ARM_EXIDX)
		return;
	for (size_t i = 0; i < table->count && got < size; i++) {
		const struct piece *piece = &table->pieces[i];

		if (!got && from >= piece->from && from - piece->from < piece->size)
			to = piece->to + (from - piece->from), got = piece->size - (from - piece->from);
		else if (got && piece->from >= from + got && piece->from - from == piece->to - to)
			got = piece->from - from + piece->size;
	}
	elf_put(elf, segment, p_filesz, got < size ? got : size);
	if (got)
		elf_put(elf, segment, p_offset, to);
}

static void move_headers(struct table *table)
{
	struct elf_file *elf = &table->elf;
	size_t next = 0;

	elf_put(elf, elf->header, e_phoff, elf->segment_count ? elf->header_bytes : 0);
	elf_put(elf, elf->header, e_shoff, elf->section_count ? table->sections_at : 0);
	for (size_t i = 0; i < elf->segment_count; i++)
		move_segment(table, elf_segment(elf, i));
	for (size_t i = 0; i < elf->section_count; i++) {
		unsigned char *section = elf_section(elf, i);

		if (next < table->count && table->pieces[next].section == i) {
			elf_put(elf, section, sh_offset, table->pieces[next++].to);
		} else if (elf_get(elf, section, sh_type) != SHT_NULL) {
			elf_put(elf, section, sh_type, SHT_NOBITS);
			/* what has no address, such as DWARF, is nothing without its bytes */
			if (!(elf_get(elf, section, sh_flags) & SHF_ALLOC))
				elf_put(elf, section, sh_size, 0);
		}
	}
}

static int write_zeros_until(int out, uint64_t *at, uint64_t until)
{
	static const char zeros[ALIGN_MOST];
	size_t count = (size_t)(until - *at); /* alignment only: below ALIGN_MOST */

	*at = until;
	return write_all(out, zeros, count);
}

static const char *write_pieces(struct table *table, int out)
{
	static unsigned char chunk[1 << 16];
	struct elf_file *elf = &table->elf;
	uint64_t at = elf->header_bytes + elf->segment_count * elf->segment_bytes;

	if (write_all(out, elf->header, elf->header_bytes) ||
	    write_all(out, elf->segments, elf->segment_count * elf->segment_bytes))
		return strerror(errno);
	for (size_t i = 0; i < table->count; i++) {
		const struct piece *piece = &table->pieces[i];

		if (write_zeros_until(out, &at, piece->to))
			return strerror(errno);
		for (uint64_t done = 0; done < piece->size;) {
			size_t step = piece->size - done < sizeof chunk ? (size_t)(piece->size - done) : sizeof chunk;

			if (read_at(elf->fd, chunk, step, piece->from + done))
				return "unreadable, or changed while it was read";
			if (write_all(out, chunk, step))
				return strerror(errno);
			done += step;
		}
		at += piece->size;
	}
	if (write_zeros_until(out, &at, table->sections_at) ||
	    write_all(out, elf->sections, elf->section_count * elf->section_bytes))
		return strerror(errno);
	return NULL;
}

const char *elf_write_table(int in, int out, uint64_t limit_bytes, int all_unwind_tables, uint64_t *size_bytes)
{
	struct table table = { .count = 0 };
	const char *trouble = elf_open(&table.elf, in);

	*size_bytes = 0;
	if (!trouble)
		trouble = choose_pieces(&table, all_unwind_tables);
	if (!trouble) {
		lay_out(&table, limit_bytes);
		*size_bytes = table.total_bytes;
		if (table.total_bytes > limit_bytes)
			trouble = "too large";
	}
	if (!trouble) {
		move_headers(&table);
		trouble = write_pieces(&table, out);
	}
	elf_close(&table.elf);
	free(table.pieces);
	return trouble;
}
