/* file_systems.h: how full the file systems are that the recorder sees mounted. */
#ifndef PERFCASE_FILE_SYSTEMS_H
#define PERFCASE_FILE_SYSTEMS_H

#include "util.h"

struct file_systems {
	int is_silent; /* one did not answer: none is asked again */
	size_t foreign_count, surplus_count, silent_count; /* left out: not on a device of the host; beyond the most; no answer */
};

/* Asks each one that is on a block device, each tmpfs and overlay: a line each (schema/README.md). It takes a second at most. 0, or
 * the errno. */
int file_systems_ask(struct file_systems *left_out, struct buffer *text);

#endif
