// Sends small UDP packets to itself over loopback, as fast as one CPU does, for the seconds of its argument.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

int main(int argc, char **argv) {
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof to;
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	bind(in, (struct sockaddr *)&to, length);
	getsockname(in, (struct sockaddr *)&to, &length);
	connect(out, (struct sockaddr *)&to, length);
	static char data[16];
	static struct iovec part = {data, sizeof data};
	static struct mmsghdr messages[512];
	for (int i = 0; i < 512; i++) messages[i].msg_hdr.msg_iov = &part, messages[i].msg_hdr.msg_iovlen = 1;
	for (time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3); time(NULL) < end;) sendmmsg(out, messages, 512, 0);
	return 0;
}
