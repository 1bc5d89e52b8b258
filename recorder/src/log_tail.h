/* log_tail.h: whether a text came to a file that others append to. */
#ifndef PERFCASE_LOG_TAIL_H
#define PERFCASE_LOG_TAIL_H

#include <stddef.h>
#include <sys/types.h>

struct log_tail {
	char *path, *text;
	int file; /* -1: it is not there */
	off_t at;
	dev_t device;
	ino_t inode;
	char *block;
	size_t kept; /* bytes of the block that may be the beginning of the text */
};

/* Begins behind what is there. NULL, or what is wrong. */
const char *log_begin(struct log_tail *log, char *path, char *text);
/* Whether the text was written since the last look. Follows the file that has the name, also when that is another or was emptied. */
int log_look(struct log_tail *log);

#endif
