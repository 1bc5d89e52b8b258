/* cgroups.c: finds the control groups of processes, version 1 and 2, where systemd and containers mount them. */
#define _GNU_SOURCE
#include "cgroups.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Statistics of version 2 are added up when they are read: not of thousands of groups. */
enum { MOST_FOLDERS = 64, MOST_PATHS = 512 };

static const char ROOT[] = "/sys/fs/cgroup";

static void add_folder(struct cgroups *cgroups, const char *folder)
{
	char path[1024];

	for (size_t i = 0; i < cgroups->folder_count; i++)
		if (!strcmp(cgroups->folders[i], folder))
			return;
	if (cgroups->folder_count == MOST_FOLDERS)
		return;
	cgroups->folders = checked_realloc(cgroups->folders, (cgroups->folder_count + 1) * sizeof(char *));
	cgroups->folders[cgroups->folder_count++] = checked_strdup(folder);
	for (size_t i = 0; i < cgroups->name_count && cgroups->path_count < MOST_PATHS; i++) {
		format_path(path, sizeof path, "%s/%s", folder, cgroups->names[i]);
		if (access(path, R_OK))
			continue;
		cgroups->paths = checked_realloc(cgroups->paths, (cgroups->path_count + 1) * sizeof(char *));
		cgroups->paths[cgroups->path_count++] = checked_strdup(path);
	}
}

/* A line of /proc/PID/cgroup: ID:CONTROLLERS:PATH; version 2 is 0::PATH. */
static void add_line(struct cgroups *cgroups, const char *line)
{
	const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char folder[768];
	size_t root;

	/* a path that leaves the recorder's own view of the tree cannot be read */
	if (!path || strlen(path) > 600 || strstr(path, "/.."))
		return;
	path++;
	controllers++;
	if (*controllers == ':')
		format_path(folder, sizeof folder, "%s%s", ROOT,
			    access("/sys/fs/cgroup/cgroup.controllers", F_OK) ? "/unified" : "");
	else
		format_path(folder, sizeof folder, "%s/%.*s", ROOT, (int)(path - 1 - controllers), controllers);
	root = strlen(folder);
	if (path[1])
		format_path(folder + root, sizeof folder - root, "%s", path);
	/* the group itself, and all above it: limits are theirs, too */
	for (;;) {
		char *slash;

		add_folder(cgroups, folder);
		slash = strrchr(folder + root, '/');
		if (!slash)
			return;
		*slash = 0;
	}
}

static void clear(char **list, size_t *count)
{
	while (*count)
		free(list[--*count]);
}

void cgroups_refresh(struct cgroups *cgroups, const struct targets *targets, struct buffer *text)
{
	char path[64];

	clear(cgroups->folders, &cgroups->folder_count);
	clear(cgroups->paths, &cgroups->path_count);
	for (size_t i = 0; i < targets->count && cgroups->folder_count < MOST_FOLDERS; i++) {
		if (!targets->processes[i].is_target ||
		    read_file(format_path(path, sizeof path, "/proc/%d/cgroup", (int)targets->processes[i].pid), text,
			      1 << 16) || !text->length)
			continue;
		for (char *line = text->data, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			add_line(cgroups, line);
		}
	}
}
