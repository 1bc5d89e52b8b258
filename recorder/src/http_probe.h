/* http_probe.h: how long a server takes to answer GET, without waiting for it. */
#ifndef PERFCASE_HTTP_PROBE_H
#define PERFCASE_HTTP_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct http_probe {
	struct sockaddr_storage address;
	socklen_t address_bytes;
	char *request;
	int64_t limit_ns, began_ns;
	int file; /* -1: none is under way */
	short wants; /* for poll */
	size_t sent, got;
	char answer[16];
};

enum http_verdict { HTTP_PENDING, HTTP_FINE, HTTP_BAD };

/* URL>TIME. NULL, or what is wrong. */
const char *http_parse(struct http_probe *probe, const char *text);
/* Both say in `saw` what a bad answer was. */
enum http_verdict http_begin(struct http_probe *probe, int64_t now_ns, char *saw, size_t size);
enum http_verdict http_go_on(struct http_probe *probe, int64_t now_ns, char *saw, size_t size);

#endif
