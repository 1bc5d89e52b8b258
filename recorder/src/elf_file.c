/* elf_file.c: reads the headers of an ELF file. The file may be hostile, and may change while it is read: it is not mapped
 * into memory, and every offset is held against the size it had. */
#define _GNU_SOURCE
#include "elf_file.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_LIMIT = 16 << 20, SEGMENTS_MOST = 0xfffe, SECTIONS_MOST = 0xfeff };

uint64_t elf_get(const struct elf_file *elf, const unsigned char *at, struct elf_field field)
{
	int size = elf->is_64 ? field.size64 : field.size32;
	uint64_t value = 0;

	at += elf->is_64 ? field.at64 : field.at32;
	for (int i = 0; i < size; i++)
		value |= (uint64_t)at[elf->is_big ? size - 1 - i : i] << (8 * i);
	return value;
}

void elf_put(const struct elf_file *elf, unsigned char *at, struct elf_field field, uint64_t value)
{
	int size = elf->is_64 ? field.size64 : field.size32;

	at += elf->is_64 ? field.at64 : field.at32;
	for (int i = 0; i < size; i++)
		at[elf->is_big ? size - 1 - i : i] = (unsigned char)(value >> (8 * i));
}

unsigned char *elf_segment(const struct elf_file *elf, size_t index)
{
	return elf->segments + index * elf->segment_bytes;
}

unsigned char *elf_section(const struct elf_file *elf, size_t index)
{
	return elf->sections + index * elf->section_bytes;
}

const char *elf_section_name(const struct elf_file *elf, size_t index)
{
	uint64_t at = elf_get(elf, elf_section(elf, index), sh_name);

	return at < elf->names_bytes ? elf->names + at : "";
}

/* A table of `count` headers; NULL where it is not wholly in the file. */
static unsigned char *read_table(const struct elf_file *elf, uint64_t offset, size_t count, size_t each)
{
	unsigned char *table;

	if (offset > elf->size_bytes || count * each > elf->size_bytes - offset)
		return NULL;
	table = checked_realloc(NULL, count * each + 1);
	if (!read_at(elf->fd, table, count * each, offset))
		return table;
	free(table);
	return NULL;
}

static void read_names(struct elf_file *elf)
{
	uint64_t index = elf_get(elf, elf->header, e_shstrndx), offset, size;
	unsigned char *section;

	if (index >= elf->section_count)
		return;
	section = elf_section(elf, index);
	offset = elf_get(elf, section, sh_offset);
	size = elf_get(elf, section, sh_size);
	if (elf_get(elf, section, sh_type) != SHT_STRTAB || size > NAMES_LIMIT ||
	    !(elf->names = (char *)read_table(elf, offset, 1, size)))
		return;
	elf->names[size] = 0;
	elf->names_bytes = size;
}

const char *elf_open(struct elf_file *elf, int fd)
{
	struct stat info;

	memset(elf, 0, sizeof *elf);
	elf->fd = fd;
	if (fstat(fd, &info) || !S_ISREG(info.st_mode))
		return "not a regular file";
	elf->size_bytes = (uint64_t)info.st_size;
	if (read_at(fd, elf->header, 52, 0) || memcmp(elf->header, "\177ELF", 4) || elf->header[4] < 1 ||
	    elf->header[4] > 2 || elf->header[5] < 1 || elf->header[5] > 2)
		return "not an ELF file";
	elf->is_64 = elf->header[4] == 2;
	elf->is_big = elf->header[5] == 2;
	elf->header_bytes = elf->is_64 ? 64 : 52;
	elf->segment_bytes = elf->is_64 ? 56 : 32;
	elf->section_bytes = elf->is_64 ? 64 : 40;
	if (read_at(fd, elf->header, elf->header_bytes, 0))
		return "truncated ELF file";
	elf->segment_count = elf_get(elf, elf->header, e_phnum);
	if (elf->segment_count > SEGMENTS_MOST ||
	    (elf->segment_count && elf_get(elf, elf->header, e_phentsize) != elf->segment_bytes))
		return "malformed ELF file";
	if (!(elf->segments = read_table(elf, elf_get(elf, elf->header, e_phoff), elf->segment_count,
					 elf->segment_bytes)))
		return "truncated ELF file";
	if (!elf_get(elf, elf->header, e_shoff))
		return NULL; /* without section headers */
	elf->section_count = elf_get(elf, elf->header, e_shnum);
	/* 0 means a count that does not fit: no file that is mapped has so many */
	if (!elf->section_count || elf->section_count > SECTIONS_MOST ||
	    elf_get(elf, elf->header, e_shentsize) != elf->section_bytes)
		return "malformed ELF file";
	if (!(elf->sections = read_table(elf, elf_get(elf, elf->header, e_shoff), elf->section_count,
					 elf->section_bytes)))
		return "truncated ELF file";
	read_names(elf);
	return NULL;
}

void elf_close(struct elf_file *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	elf->segments = elf->sections = NULL;
	elf->names = NULL;
}
