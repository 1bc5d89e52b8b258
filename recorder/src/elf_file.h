/* elf_file.h: the headers of an ELF file of either word size and byte order (the System V gABI). */
#ifndef PERFCASE_ELF_FILE_H
#define PERFCASE_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

enum {
	PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3, PT_NOTE = 4, PT_EH_FRAME = 0x6474e550, PT_PROPERTY = 0x6474e553,
	PT_ARM_EXIDX = 0x70000001,
	SHT_NULL = 0, SHT_PROGBITS = 1, SHT_SYMTAB = 2, SHT_STRTAB = 3, SHT_NOTE = 7, SHT_NOBITS = 8, SHT_DYNSYM = 11,
	SHT_ARM_EXIDX = 0x70000001,
	SHF_ALLOC = 2,
};

/* Where a field is and how wide: in ELF32, in ELF64. */
struct elf_field {
	unsigned char at32, size32, at64, size64;
};

#define ELF_FIELD static const struct elf_field __attribute__((unused))
ELF_FIELD e_phoff = { 28, 4, 32, 8 }, e_shoff = { 32, 4, 40, 8 }, e_phentsize = { 42, 2, 54, 2 },
	  e_phnum = { 44, 2, 56, 2 }, e_shentsize = { 46, 2, 58, 2 }, e_shnum = { 48, 2, 60, 2 },
	  e_shstrndx = { 50, 2, 62, 2 };
ELF_FIELD p_type = { 0, 4, 0, 4 }, p_offset = { 4, 4, 8, 8 }, p_filesz = { 16, 4, 32, 8 };
ELF_FIELD sh_name = { 0, 4, 0, 4 }, sh_type = { 4, 4, 4, 4 }, sh_flags = { 8, 4, 8, 8 },
	  sh_offset = { 16, 4, 24, 8 }, sh_size = { 20, 4, 32, 8 },
	  sh_link = { 24, 4, 40, 4 }, sh_align = { 32, 4, 48, 8 };

struct elf_file {
	int fd;
	uint64_t size_bytes;
	int is_64, is_big;
	size_t header_bytes, segment_bytes, section_bytes; /* of one header each */
	unsigned char header[64];
	unsigned char *segments, *sections; /* the header tables */
	size_t segment_count, section_count;
	char *names; /* of sections; zero-terminated */
	size_t names_bytes;
};

/* Reads the headers. NULL, or why it cannot be used. elf_close() in either case; it leaves fd open. */
const char *elf_open(struct elf_file *elf, int fd);
void elf_close(struct elf_file *elf);

uint64_t elf_get(const struct elf_file *elf, const unsigned char *at, struct elf_field field);
void elf_put(const struct elf_file *elf, unsigned char *at, struct elf_field field, uint64_t value);
unsigned char *elf_segment(const struct elf_file *elf, size_t index);
unsigned char *elf_section(const struct elf_file *elf, size_t index);
/* "" where it has no readable name. */
const char *elf_section_name(const struct elf_file *elf, size_t index);

#endif
