/* elf_table.h: what naming needs of an ELF file, without its text and data. */
#ifndef PERFCASE_ELF_TABLE_H
#define PERFCASE_ELF_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { ELF_BUILD_ID_MOST = 64, ELF_BUILD_ID_HEX = 2 * ELF_BUILD_ID_MOST + 1 };

/* Lower-case hex of n bytes; hex has room for 2n + 1. */
void to_hex(const unsigned char *bytes, size_t count, char *hex);

/* The GNU build id of an open file as hex, "" without one. NULL, or why it is no ELF file. */
const char *elf_build_id(int file, char hex[ELF_BUILD_ID_HEX]);

/* Whether an open ELF file has a .symtab. */
int elf_has_symtab(int file);

/* Writes the table-only form of `in` (schema/README.md, "symbols") to `out`, at most limit_bytes. Unwind tables are kept
 * where they are small, or always. NULL and the size, or why not; *size_bytes is then what it would have been, or 0. */
const char *elf_write_table(int in, int out, uint64_t limit_bytes, int all_unwind_tables, uint64_t *size_bytes);

#endif
