/* http_probe.c: one request at a time, up to the first line of its answer. Names are not looked up, as that may take any time. */
#define _GNU_SOURCE
#include "http_probe.h"
#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_LINE = 12 }; /* HTTP/1.1 200 */

static int parse_address(struct http_probe *probe, const char *host, long port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&probe->address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&probe->address;
	char text[64];
	size_t length = strlen(host);

	if (!strcmp(host, "localhost"))
		host = "127.0.0.1";
	if (*host == '[' && length < sizeof text && host[length - 1] == ']') {
		memcpy(text, host + 1, length - 2);
		text[length - 2] = 0;
		*six = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
		probe->address_bytes = sizeof *six;
		return inet_pton(AF_INET6, text, &six->sin6_addr) == 1;
	}
	*four = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	probe->address_bytes = sizeof *four;
	return inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

static int64_t parse_time(const char *text)
{
	char *end;
	long ms = strtol(text, &end, 10);

	return end != text && !strcmp(end, "ms") ? (ms > 0 && ms <= 3600000 ? ms * 1000000LL : -1) : parse_seconds_ns(text);
}

const char *http_parse(struct http_probe *probe, const char *text)
{
	static const char form[] = "http://ADDRESS[:PORT][/PATH]>TIME, such as http://127.0.0.1:8080/health>500ms";
	const char *above = strrchr(text, '>'), *at = text + strlen("http://");
	size_t length = strcspn(at, "/>"), path_length;
	struct buffer request = { NULL, 0, 0 };
	char host[128], *colon;
	long port = 80;

	*probe = (struct http_probe){ .file = -1 };
	if (!above || !length || length >= sizeof host || at + length > above)
		return form;
	probe->limit_ns = parse_time(above + 1);
	if (probe->limit_ns <= 0 || probe->limit_ns > 60000000000LL)
		return "the time is one such as 500ms or 2s, 60s at most";
	memcpy(host, at, length);
	host[length] = 0;
	colon = strrchr(host, ':');
	if (colon && !strchr(colon, ']')) {
		port = colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) ? atol(colon + 1) : 0;
		*colon = 0;
	}
	if (port < 1 || port > 65535)
		return "the port is a number from 1 to 65535";
	if (!parse_address(probe, host, port))
		return "the server is a numeric address or localhost: looking a name up could take any time";
	at += length;
	path_length = (size_t)(above - at);
	for (size_t i = 0; i < path_length; i++)
		if (at[i] <= ' ' || at[i] > '~')
			return "the path has no blanks: %20 is one";
	buffer_add(&request, "GET ");
	for (size_t i = 0; i < path_length; i++)
		buffer_add_char(&request, at[i]);
	buffer_add(&request, path_length ? " HTTP/1.1\r\nHost: " : "/ HTTP/1.1\r\nHost: ");
	for (size_t i = 0; i < length; i++)
		buffer_add_char(&request, text[strlen("http://") + i]);
	buffer_add(&request, "\r\nUser-Agent: perfcase-record\r\nAccept: */*\r\nConnection: close\r\n\r\n");
	probe->request = request.data;
	return NULL;
}

static enum http_verdict end(struct http_probe *probe, enum http_verdict verdict)
{
	close(probe->file);
	probe->file = -1;
	return verdict;
}

static enum http_verdict failed(struct http_probe *probe, char *saw, size_t size)
{
	snprintf(saw, size, "%s", strerror(errno));
	return end(probe, HTTP_BAD);
}

enum http_verdict http_begin(struct http_probe *probe, int64_t now_ns, char *saw, size_t size)
{
	probe->began_ns = now_ns;
	probe->sent = probe->got = 0;
	probe->wants = POLLOUT;
	probe->file = socket(probe->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe->file < 0 || (connect(probe->file, (struct sockaddr *)&probe->address, probe->address_bytes) && errno != EINPROGRESS))
		return failed(probe, saw, size);
	return HTTP_PENDING;
}

static enum http_verdict judge(struct http_probe *probe, char *saw, size_t size)
{
	probe->answer[probe->got] = 0;
	if (probe->got == STATUS_LINE && !strncmp(probe->answer, "HTTP/", 5) && probe->answer[8] == ' ' && probe->answer[9] == '2')
		return end(probe, HTTP_FINE);
	if (probe->got == STATUS_LINE && !strncmp(probe->answer, "HTTP/", 5))
		snprintf(saw, size, "answered %.3s", probe->answer + 9);
	else
		snprintf(saw, size, "answered with something else than HTTP");
	return end(probe, HTTP_BAD);
}

enum http_verdict http_go_on(struct http_probe *probe, int64_t now_ns, char *saw, size_t size)
{
	struct pollfd ready = { probe->file, probe->wants, 0 };
	size_t length = strlen(probe->request);

	while (poll(&ready, 1, 0) > 0) {
		ssize_t done;

		if (probe->wants == POLLOUT) {
			done = send(probe->file, probe->request + probe->sent, length - probe->sent, MSG_NOSIGNAL);
			if (done < 0 && errno != EAGAIN)
				return failed(probe, saw, size);
			probe->sent += done > 0 ? (size_t)done : 0;
			probe->wants = probe->sent == length ? POLLIN : POLLOUT;
		} else {
			done = recv(probe->file, probe->answer + probe->got, STATUS_LINE - probe->got, 0);
			if (done < 0 && errno != EAGAIN)
				return failed(probe, saw, size);
			probe->got += done > 0 ? (size_t)done : 0;
			if (!done || probe->got == STATUS_LINE)
				return judge(probe, saw, size);
		}
		ready.events = probe->wants;
	}
	if (now_ns - probe->began_ns < probe->limit_ns)
		return HTTP_PENDING;
	snprintf(saw, size, "no answer within %lld ms", (long long)(probe->limit_ns / 1000000));
	return end(probe, HTTP_BAD);
}
