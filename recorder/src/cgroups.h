/* cgroups.h: the statistics files of the control groups of recorded processes. */
#ifndef PERFCASE_CGROUPS_H
#define PERFCASE_CGROUPS_H

#include "targets.h"
#include "util.h"

struct cgroups {
	char **names; /* files to look for in each folder */
	size_t name_count;
	char **folders, **paths; /* folders that were looked at, files that are there */
	size_t folder_count, path_count;
};

/* Looks up the groups of the targets, and those above them. */
void cgroups_refresh(struct cgroups *cgroups, const struct targets *targets, struct buffer *text);

#endif
