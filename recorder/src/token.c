/* token.c: a command that sends a token which nobody else sees: not on a command line, not in an environment. */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TOKEN_MOST = 4096 };

/* The token in a file that only its owner reads: one line, of what may stand in a header. */
static void read_token(const char *path, char token[TOKEN_MOST])
{
	int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat info;
	ssize_t length;

	if (file < 0 || fstat(file, &info))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(info.st_mode))
		die("%s: is no file: the token is the only line of a file", path);
	if (info.st_uid && info.st_uid != geteuid())
		die("%s: belongs to another user, who could change it", path);
	if (info.st_mode & (S_IRWXG | S_IRWXO))
		die("%s: others may read it: chmod 600", path);
	if ((length = read(file, token, TOKEN_MOST - 1)) < 0)
		die("%s: %s", path, strerror(errno));
	close(file);
	token[length] = 0;
	token[strcspn(token, "\r\n")] = 0;
	if (!*token)
		die("%s: holds no token", path);
	for (const char *at = token; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == '"' || *at == '\\')
			die("%s: holds what is no token: its first line has blanks, quotes or other bytes", path);
}

/* token FILE [curl|wget ARGUMENT...]: becomes the command, which reads the header with the token as its configuration from standard
 * input. Without a command: only looks at the file. An empty FILE: no token. */
int command_token(int argc, char **argv)
{
	char token[TOKEN_MOST] = "", line[TOKEN_MOST + 64];
	int ends[2];

	if (argc < 2)
		die("usage: token FILE [curl|wget ARGUMENT...]");
	if (*argv[1])
		read_token(argv[1], token);
	if (argc == 2)
		return 0;
	/* wgetrc has no quotes, curl's configuration needs them */
	snprintf(line, sizeof line, strcmp(argv[2], "wget") ? "header = \"Authorization: Bearer %s\"\n" : "header = Authorization: Bearer %s\n",
		 token);
	/* wget reads no pipe; a kernel before 3.17 has nothing else that is on no disk */
	if ((ends[0] = ends[1] = (int)syscall(SYS_memfd_create, "token", 0)) < 0 && pipe(ends))
		die("pipe: %s", strerror(errno));
	if (*token && write_all(ends[1], line, strlen(line)))
		die("pipe: %s", strerror(errno));
	lseek(ends[0], 0, SEEK_SET);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	if (ends[1] != ends[0])
		close(ends[1]);
	execvp(argv[2], argv + 2);
	die("%s: %s", argv[2], strerror(errno));
}
