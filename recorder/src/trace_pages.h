/* trace_pages.h: files of ftrace ring-buffer pages, as the kernel wrote them on this machine. */
#ifndef PERFCASE_TRACE_PAGES_H
#define PERFCASE_TRACE_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct page_layout {
	size_t page_bytes, commit_at, commit_bytes, data_at;
};

/* What the text of tracefs' header_page says. 0, or -1. */
int page_layout_read(struct page_layout *layout, const char *header_page);
/* The time of the first page of a file, or -1: it has none. */
int64_t pages_begin_ns(int file);
/* Removes from a file what was before this moment. Returns how many events are left, or -1. */
long long pages_cut(int file, const struct page_layout *layout, int64_t from_ns);

#endif
