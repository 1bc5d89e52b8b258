// A server that keeps every session that ever was: nothing is lost, so no leak checker finds anything, and it grows. Beside it
// a cache that fills itself when it starts, and then does not grow.
// usage: sessions SECONDS
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define OUT_OF_LINE __attribute__((noinline, noclone))
enum { PAGE = 4096 };
using Buffer = std::unique_ptr<char[]>;

// Makes a buffer and writes to each of its pages.
static OUT_OF_LINE Buffer new_buffer(size_t size) {
	Buffer buffer(new char[size]);
	for (size_t i = 0; i < size; i += PAGE)
		const_cast<volatile char &>(buffer[i]) = 1;
	return buffer;
}

static OUT_OF_LINE void remember_session(std::unordered_map<int, Buffer> &sessions, int id) {
	sessions.emplace(id, new_buffer(12 * PAGE)); // and nobody ever erases one
}

static OUT_OF_LINE void render_answer(std::deque<Buffer> &in_flight) {
	in_flight.push_back(new_buffer(8 * PAGE));
	if (in_flight.size() > 16)
		in_flight.pop_front();
}

static OUT_OF_LINE void fill_cache(std::vector<Buffer> &cache) {
	for (int i = 0; i < 512; i++)
		cache.push_back(new_buffer(4 * PAGE));
}

static double now() {
	timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

static void nap() {
	const timespec pause = {0, 20000000};
	nanosleep(&pause, nullptr);
}

int main(int argc, char **argv) {
	const double end = now() + (argc == 2 ? std::atof(argv[1]) : 0);
	if (argc != 2)
		return std::fputs("usage: sessions SECONDS\n", stderr), 2;
	if (!fork()) {
		prctl(PR_SET_NAME, "price-cache");
		std::vector<Buffer> cache;
		fill_cache(cache);
		while (now() < end)
			nap();
		_exit(0);
	}
	prctl(PR_SET_NAME, "session-server");
	std::unordered_map<int, Buffer> sessions;
	std::deque<Buffer> in_flight;
	for (int id = 0; now() < end; id++) {
		remember_session(sessions, id);
		render_answer(in_flight);
		nap();
	}
	wait(nullptr);
}
