/* A client sends each request as a header and a body, two writes, and waits for the answer: write, write, read.
 * usage: nagle pipe|tcp REQUESTS
 * Through a pair of pipes an answer takes microseconds. Through TCP, Nagle's algorithm holds the body back until the header is
 * acknowledged, and the server, which has nothing to send yet, delays this acknowledgement by 40 ms. */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 16, BODY = 200, ANSWER = 64 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void read_all(int fd, char *to, size_t size)
{
	for (ssize_t got; size > 0; to += got, size -= (size_t)got)
		if ((got = read(fd, to, size)) <= 0)
			exit(got < 0);
}

static void write_all(int fd, const char *from, size_t size)
{
	if (write(fd, from, size) != (ssize_t)size)
		die("write");
}

static void serve(int in, int out)
{
	char request[HEADER + BODY], answer[ANSWER] = "done";
	prctl(PR_SET_NAME, "order-server");
	for (;;) {
		read_all(in, request, HEADER);
		read_all(in, request + HEADER, BODY);
		write_all(out, answer, sizeof answer);
	}
}

static void ask(int in, int out, int requests)
{
	char header[HEADER] = "order", body[BODY] = "one", answer[ANSWER];
	struct timespec start, end, pause = {0, 5000000};
	prctl(PR_SET_NAME, "order-client");
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < requests; i++) {
		write_all(out, header, sizeof header);
		write_all(out, body, sizeof body);
		read_all(in, answer, sizeof answer);
		nanosleep(&pause, NULL);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%d requests, %.1f ms each, with a pause of 5 ms\n", requests,
		((end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6) / requests);
}

int main(int argc, char **argv)
{
	int requests = argc == 3 ? atoi(argv[2]) : 0;
	if (requests < 1)
		return fputs("usage: nagle pipe|tcp REQUESTS\n", stderr), 2;
	if (!strcmp(argv[1], "pipe")) {
		int there[2], back[2];
		if (pipe(there) || pipe(back))
			die("pipe");
		if (!fork()) {
			close(there[1]);
			serve(there[0], back[1]);
		}
		ask(back[0], there[1], requests);
		close(there[1]);
	} else {
		struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t size = sizeof address;
		int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
		if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
		    getsockname(listener, (struct sockaddr *)&address, &size))
			die("listen");
		if (!fork()) {
			close(client);
			int connection = accept(listener, NULL, NULL);
			serve(connection, connection);
		}
		if (connect(client, (struct sockaddr *)&address, size))
			die("connect");
		ask(client, client, requests);
		close(client);
	}
	wait(NULL);
	return 0;
}
