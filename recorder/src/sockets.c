/* sockets.c: asks sock_diag (sock_diag(7), linux/inet_diag.h, linux/unix_diag.h) in a network namespace, as ss does.
 * Lines of key=value words; the keys are columns of the table proc_socket, with its units. */
#define _GNU_SOURCE
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOCKET_LIMIT = 50000, TCP_TIME_WAIT_STATE = 6, TCP_LISTEN_STATE = 10 };

/* As ss prints them; the numbers are the kernel's TCP_* states. */
static const char *const STATES[] = { "UNKNOWN",  "ESTAB",  "SYN-SENT",   "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2",
				      "TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN",     "CLOSING",
				      "SYN-RECV" };
static const char *const TIMERS[] = { NULL, "on", "keepalive", "timewait", "persist" };

void sockets_reset(struct sockets *sockets)
{
	sockets->wanted_count = sockets->namespace_count = sockets->listed = 0;
	sockets->is_sorted = 0;
}

void sockets_want(struct sockets *sockets, unsigned long long inode)
{
	if (sockets->wanted_count == sockets->wanted_capacity) {
		sockets->wanted_capacity = sockets->wanted_capacity ? sockets->wanted_capacity * 2 : 256;
		sockets->wanted = checked_realloc(sockets->wanted, sockets->wanted_capacity * sizeof *sockets->wanted);
	}
	sockets->wanted[sockets->wanted_count++] = inode;
	sockets->is_sorted = 0;
}

void sockets_add_namespace(struct sockets *sockets, const char *folder)
{
	char path[128];
	struct network *added;
	struct stat stat_of;

	if (stat(format_path(path, sizeof path, "%s/ns/net", folder), &stat_of))
		return;
	for (size_t i = 0; i < sockets->namespace_count; i++)
		if (sockets->namespaces[i].inode == stat_of.st_ino)
			return;
	sockets->namespaces =
		checked_realloc(sockets->namespaces, (sockets->namespace_count + 1) * sizeof *sockets->namespaces);
	added = &sockets->namespaces[sockets->namespace_count++];
	added->inode = stat_of.st_ino;
	format_path(added->folder, sizeof added->folder, "%s", folder);
}

static int by_number(const void *left, const void *right)
{
	unsigned long long a = *(const unsigned long long *)left, b = *(const unsigned long long *)right;

	return (a > b) - (a < b);
}

static int is_wanted(struct sockets *sockets, unsigned long long inode)
{
	if (sockets->is_everything)
		return 1;
	if (!sockets->is_sorted && sockets->wanted_count)
		qsort(sockets->wanted, sockets->wanted_count, sizeof inode, by_number);
	sockets->is_sorted = 1;
	return inode && sockets->wanted_count &&
	       bsearch(&inode, sockets->wanted, sockets->wanted_count, sizeof inode, by_number);
}

static void add_number(struct buffer *text, const char *key, long long value)
{
	char word[96];

	snprintf(word, sizeof word, " %s=%lld", key, value);
	buffer_add(text, word);
}

/* Numbers whose maximum means that there is none. */
static void add_limited(struct buffer *text, const char *key, unsigned long long value, unsigned long long none)
{
	if (value != none)
		add_number(text, key, (long long)value);
}

/* A name may have any byte: those that would break the line are escaped as in /proc/mounts. */
static void add_name(struct buffer *text, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		switch (name[i]) {
		case ' ': buffer_add(text, "\\040"); break;
		case '\n': buffer_add(text, "\\012"); break;
		case '\\': buffer_add(text, "\\134"); break;
		case 0: buffer_add_char(text, '@'); break; /* an abstract name begins with one; ss prints @ for each */
		default: buffer_add_char(text, name[i]);
		}
}

static void add_address(struct buffer *text, const char *which, int family, const void *address, int port)
{
	char printed[INET6_ADDRSTRLEN] = "";

	inet_ntop(family, address, printed, sizeof printed);
	buffer_add_char(text, ' ');
	buffer_add(text, which);
	buffer_add(text, "_address=");
	buffer_add(text, printed);
	buffer_add_char(text, ' ');
	buffer_add(text, which);
	buffer_add(text, "_port=");
	snprintf(printed, sizeof printed, "%d", port);
	buffer_add(text, printed);
}

/* Older kernels give a shorter structure: what it lacks is not written. */
#define HAS(length, field) ((length) >= offsetof(struct tcp_info, field) + sizeof(((struct tcp_info *)0)->field))
#define ADD(key, field, scale) \
	do { \
		if (HAS(length, field)) \
			add_number(text, key, (long long)info->field * (scale)); \
	} while (0)

static void add_tcp_info(struct buffer *text, const struct tcp_info *info, size_t length, int state)
{
	if (state != TCP_LISTEN_STATE) {
		ADD("rtt_ns", tcpi_rtt, 1000);
		ADD("rttvar_ns", tcpi_rttvar, 1000);
		if (HAS(length, tcpi_min_rtt))
			add_limited(text, "min_rtt_ns", info->tcpi_min_rtt == UINT32_MAX ? 0 : info->tcpi_min_rtt * 1000ULL, 0);
		ADD("rto_ns", tcpi_rto, 1000);
		ADD("ato_ns", tcpi_ato, 1000);
		ADD("mss_bytes", tcpi_snd_mss, 1);
		ADD("unacknowledged_count", tcpi_unacked, 1);
		ADD("lost_count", tcpi_lost, 1);
		ADD("retransmit_now_count", tcpi_retransmits, 1);
		ADD("last_send_ns", tcpi_last_data_sent, 1000000);
		ADD("last_receive_ns", tcpi_last_data_recv, 1000000);
		ADD("delivery_rate_bytes_per_s", tcpi_delivery_rate, 1);
	}
	ADD("congestion_window_count", tcpi_snd_cwnd, 1);
	if (HAS(length, tcpi_snd_ssthresh) && info->tcpi_snd_ssthresh < 0xFFFF && state != TCP_LISTEN_STATE)
		add_number(text, "slow_start_threshold_count", info->tcpi_snd_ssthresh);
	ADD("retransmit_count", tcpi_total_retrans, 1);
	ADD("reordering_count", tcpi_reordering, 1);
	ADD("segment_sent_count", tcpi_segs_out, 1);
	ADD("segment_received_count", tcpi_segs_in, 1);
	ADD("sent_bytes", tcpi_bytes_sent, 1);
	ADD("acknowledged_bytes", tcpi_bytes_acked, 1);
	ADD("received_bytes", tcpi_bytes_received, 1);
	ADD("retransmitted_bytes", tcpi_bytes_retrans, 1);
	ADD("unsent_bytes", tcpi_notsent_bytes, 1);
	if (HAS(length, tcpi_pacing_rate))
		add_limited(text, "pacing_rate_bytes_per_s", info->tcpi_pacing_rate, ~0ULL);
	ADD("busy_ns", tcpi_busy_time, 1000);
	ADD("receiver_limited_ns", tcpi_rwnd_limited, 1000);
	ADD("buffer_limited_ns", tcpi_sndbuf_limited, 1000);
}

static void add_inet(struct sockets *sockets, struct buffer *text, int protocol, const struct nlmsghdr *header)
{
	const struct inet_diag_msg *socket = NLMSG_DATA(header);
	int length = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof *socket);
	unsigned state = socket->idiag_state < 13 ? socket->idiag_state : 0;

	if (length < 0 || !is_wanted(sockets, socket->idiag_inode) || ++sockets->listed > SOCKET_LIMIT)
		return;
	buffer_add(text, socket->idiag_family == AF_INET ? "family=inet" : "family=inet6");
	buffer_add(text, protocol == IPPROTO_TCP ? " protocol=tcp state=" : " protocol=udp state=");
	buffer_add(text, STATES[state]);
	add_address(text, "local", socket->idiag_family, socket->id.idiag_src, ntohs(socket->id.idiag_sport));
	add_address(text, "peer", socket->idiag_family, socket->id.idiag_dst, ntohs(socket->id.idiag_dport));
	add_number(text, "interface_index", socket->id.idiag_if);
	add_number(text, "inode", socket->idiag_inode);
	add_number(text, "user_id", socket->idiag_uid);
	add_number(text, "recv_queue_bytes", socket->idiag_rqueue);
	add_number(text, "send_queue_bytes", socket->idiag_wqueue);
	if (socket->idiag_timer > 0 && socket->idiag_timer < 5) {
		buffer_add(text, " timer=");
		buffer_add(text, TIMERS[socket->idiag_timer]);
		add_number(text, "timer_ns", socket->idiag_expires * 1000000LL);
	}
	for (struct rtattr *at = (struct rtattr *)(socket + 1); RTA_OK(at, length); at = RTA_NEXT(at, length)) {
		const uint32_t *memory = RTA_DATA(at);

		if (at->rta_type == INET_DIAG_INFO && protocol == IPPROTO_TCP && state != TCP_TIME_WAIT_STATE) {
			add_tcp_info(text, RTA_DATA(at), RTA_PAYLOAD(at), (int)state);
		} else if (at->rta_type == INET_DIAG_SKMEMINFO && RTA_PAYLOAD(at) >= SK_MEMINFO_OPTMEM * 4) {
			add_number(text, "recv_memory_bytes", memory[SK_MEMINFO_RMEM_ALLOC]);
			add_number(text, "recv_buffer_bytes", memory[SK_MEMINFO_RCVBUF]);
			add_number(text, "send_memory_bytes", memory[SK_MEMINFO_WMEM_ALLOC]);
			add_number(text, "send_buffer_bytes", memory[SK_MEMINFO_SNDBUF]);
			if (RTA_PAYLOAD(at) >= (SK_MEMINFO_DROPS + 1) * 4)
				add_number(text, "drop_count", memory[SK_MEMINFO_DROPS]);
		} else if (at->rta_type == INET_DIAG_CONG && RTA_PAYLOAD(at) > 1) {
			buffer_add(text, " congestion_control=");
			add_name(text, RTA_DATA(at), strnlen(RTA_DATA(at), RTA_PAYLOAD(at)));
		}
	}
	buffer_add_char(text, '\n');
}

static void add_unix(struct sockets *sockets, struct buffer *text, const struct nlmsghdr *header)
{
	const struct unix_diag_msg *socket = NLMSG_DATA(header);
	int length = (int)header->nlmsg_len - (int)NLMSG_LENGTH(sizeof *socket);
	unsigned state = socket->udiag_state < 13 ? socket->udiag_state : 0;

	if (length < 0 || !is_wanted(sockets, socket->udiag_ino) || ++sockets->listed > SOCKET_LIMIT)
		return;
	buffer_add(text, "family=unix protocol=");
	buffer_add(text, socket->udiag_type == SOCK_STREAM ? "stream" : socket->udiag_type == SOCK_DGRAM ? "dgram" : "seqpacket");
	buffer_add(text, " state=");
	buffer_add(text, STATES[state]);
	add_number(text, "inode", socket->udiag_ino);
	for (struct rtattr *at = (struct rtattr *)(socket + 1); RTA_OK(at, length); at = RTA_NEXT(at, length)) {
		const uint32_t *numbers = RTA_DATA(at);

		switch (at->rta_type) {
		case UNIX_DIAG_NAME:
			buffer_add(text, " local_address=");
			/* a path ends with its zero, an abstract name begins with one */
			add_name(text, RTA_DATA(at),
				 *(char *)RTA_DATA(at) ? strnlen(RTA_DATA(at), RTA_PAYLOAD(at)) : RTA_PAYLOAD(at));
			break;
		case UNIX_DIAG_PEER: add_number(text, "peer_inode", numbers[0]); break;
		case UNIX_DIAG_UID: add_number(text, "user_id", numbers[0]); break;
		case UNIX_DIAG_RQLEN:
			add_number(text, "recv_queue_bytes", numbers[0]);
			add_number(text, "send_queue_bytes", numbers[1]);
			break;
		}
	}
	buffer_add_char(text, '\n');
}

/* Sends a request and reads the answer to its end. 0, or the errno. */
static int ask(int fd, void *request, size_t size, struct sockets *sockets, struct buffer *text, int protocol)
{
	static char answer[1 << 16] __attribute__((aligned(8)));

	if (send(fd, request, size, 0) < 0)
		return errno;
	for (;;) {
		ssize_t got = recv(fd, answer, sizeof answer, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? errno : EIO;
		for (struct nlmsghdr *at = (void *)answer; NLMSG_OK(at, (size_t)got); at = NLMSG_NEXT(at, got)) {
			if (at->nlmsg_type == NLMSG_DONE)
				return 0;
			if (at->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(at))->error;
			if (protocol)
				add_inet(sockets, text, protocol, at);
			else
				add_unix(sockets, text, at);
		}
	}
}

/* A protocol that this kernel was built without (ENOENT) has no sockets. */
static int ask_all(int fd, struct sockets *sockets, struct buffer *text)
{
	static const int families[] = { AF_INET, AF_INET6 }, protocols[] = { IPPROTO_TCP, IPPROTO_UDP };
	struct {
		struct nlmsghdr header;
		struct unix_diag_req body;
	} local = { { sizeof local, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0 },
		    { .sdiag_family = AF_UNIX,
		      .udiag_states = ~0u,
		      .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN | UDIAG_SHOW_UID } };
	int error, answered = 0;

	for (int i = 0; i < 4; i++) {
		struct {
			struct nlmsghdr header;
			struct inet_diag_req_v2 body;
		} request = { { sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0 },
			      { .sdiag_family = (uint8_t)families[i / 2],
				.sdiag_protocol = (uint8_t)protocols[i % 2],
				.idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) |
					     1 << (INET_DIAG_SKMEMINFO - 1),
				.idiag_states = sockets->is_everything ? ~0u : ~(1u << TCP_TIME_WAIT_STATE) } };

		error = ask(fd, &request, sizeof request, sockets, text, protocols[i % 2]);
		answered += !error;
		if (error && error != ENOENT)
			return error;
	}
	error = ask(fd, &local, sizeof local, sockets, text, 0);
	return answered || !error ? 0 : error;
}

int sockets_list(struct sockets *sockets, size_t index, struct buffer *text)
{
	char path[128];
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), error = 0, fd = -1;
	int there = open(format_path(path, sizeof path, "%s/ns/net", sockets->namespaces[index].folder),
			 O_RDONLY | O_CLOEXEC);
	struct stat of_here, of_there;
	struct timeval patience = { .tv_sec = 2 };

	text->length = 0;
	buffer_add(text, "");
	if (here < 0 || there < 0 || fstat(here, &of_here) || fstat(there, &of_there))
		error = errno;
	/* the process may have gone, and its id have another owner: the namespace must be the one that was seen */
	else if (of_there.st_ino != sockets->namespaces[index].inode)
		error = ESRCH;
	else if (of_here.st_ino != of_there.st_ino && setns(there, CLONE_NEWNET))
		error = errno;
	if (!error) {
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		if (fd < 0)
			error = errno;
		if (of_here.st_ino != of_there.st_ino && setns(here, CLONE_NEWNET))
			die("cannot return to the network namespace: %s", strerror(errno));
	}
	if (!error) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		error = ask_all(fd, sockets, text);
	}
	if (here >= 0)
		close(here);
	if (there >= 0)
		close(there);
	if (fd >= 0)
		close(fd);
	return error;
}
