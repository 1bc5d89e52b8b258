// A shop's server that keeps its objects by reference counts. Objects that are frozen may be shared without counting, so each
// IncRef and DecRef first checks the object's type by name, as run-time type checks across shared libraries do: a small
// function, called from everywhere.
// usage: server MESSAGES
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <thread>
#include <typeinfo>
#include <unistd.h>
#include <vector>

#define OUT_OF_LINE __attribute__((noinline, noclone))

// The names of types, not the addresses of their descriptions: another library may have its own copy.
OUT_OF_LINE bool same_type(const std::type_info &one, const std::type_info &other) {
	asm volatile("" : : "r"(__builtin_frame_address(0))); // a frame in a leaf function too: callchains then have its caller
	const char *a = one.name(), *b = other.name();
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

struct Object {
	virtual ~Object() = default;
	void IncRef();
	void DecRef();

      private:
	int references = 0;
};

// Names of one namespace begin alike: a comparison goes through most of the name.
namespace shop::catalogue::published {
struct Frozen final : Object {};
struct Client : Object {
	int64_t discount = 3, orders = 0;
};
struct Record : Object {
	int64_t price = 995, stock = 100000;
};
} // namespace shop::catalogue::published
using namespace shop::catalogue::published;

OUT_OF_LINE void Object::IncRef() {
	if (!same_type(typeid(*this), typeid(Frozen)))
		references++;
}

OUT_OF_LINE void Object::DecRef() {
	if (!same_type(typeid(*this), typeid(Frozen)) && --references == 0)
		delete this;
}

template <class T> class Ref {
      public:
	explicit Ref(T *object) : object(object) { object->IncRef(); }
	Ref(const Ref &other) : Ref(other.object) {}
	Ref &operator=(const Ref &) = delete;
	~Ref() { object->DecRef(); }
	T *operator->() const { return object; }

      private:
	T *object;
};
using Customer = Ref<Client>;
using Article = Ref<Record>;

struct Store {
	std::vector<Customer> customers;
	std::vector<Article> articles;
	Store() {
		for (int i = 0; i < 64; i++) {
			customers.emplace_back(new Client);
			articles.emplace_back(new Record);
		}
	}
	Customer customer(uint32_t of) const { return customers[of % customers.size()]; }
	Article article(uint32_t of) const { return articles[of % articles.size()]; }
};

static OUT_OF_LINE int64_t price_of(Article article, Customer customer) { return article->price * (100 - customer->discount); }
static OUT_OF_LINE bool in_stock(Article article) { return article->stock > 0; }
static OUT_OF_LINE int64_t tax_of(Article article) { return article->price * 19 / 100; }

static OUT_OF_LINE int64_t show_article(const Store &store, uint32_t n) {
	Article article = store.article(n);
	return in_stock(article) ? price_of(article, store.customer(n)) : 0;
}
static OUT_OF_LINE int64_t search_articles(const Store &store, uint32_t n) {
	int64_t found = 0;
	for (uint32_t i = 0; i < 4; i++)
		found += in_stock(store.article(n + i));
	return found;
}
static OUT_OF_LINE int64_t fill_basket(const Store &store, uint32_t n) {
	int64_t sum = 0;
	for (uint32_t i = 0; i < 3; i++)
		sum += price_of(store.article(n * 7 + i), store.customer(n));
	return sum;
}
static OUT_OF_LINE int64_t check_out(const Store &store, uint32_t n) {
	Customer customer = store.customer(n);
	Article article = store.article(n * 3);
	customer->orders++;
	return price_of(article, customer) + tax_of(article);
}
static OUT_OF_LINE int64_t list_orders(const Store &store, uint32_t n) {
	int64_t orders = 0;
	for (uint32_t i = 0; i < 5; i++) {
		Customer customer = store.customer(n + i);
		orders += customer->orders;
	}
	return orders;
}
static OUT_OF_LINE int64_t recommend(const Store &store, uint32_t n) {
	int64_t best = 0;
	for (uint32_t i = 0; i < 4; i++) {
		Article article = store.article(n * 11 + i);
		best = std::max(best, tax_of(article));
	}
	return best;
}
// What else a request costs.
static OUT_OF_LINE int64_t render_page(int64_t value) {
	uint64_t hash = 1469598103934665603u;
	for (int i = 0; i < 60; i++)
		hash = (hash ^ static_cast<uint64_t>(value + i)) * 1099511628211u;
	return static_cast<int64_t>(hash);
}

using Handler = int64_t (*)(const Store &, uint32_t);
static constexpr Handler handlers[] = {show_article, search_articles, fill_basket, check_out, list_orders, recommend};

static OUT_OF_LINE int64_t handle(const Store &store, uint32_t n) {
	return render_page(handlers[n % std::size(handlers)](store, n));
}

// A message stands for a batch of requests.
static void serve(int connection) {
	prctl(PR_SET_NAME, "shop-worker");
	Store store;
	for (uint32_t first; read(connection, &first, sizeof first) == sizeof first;) {
		int64_t answer = 0;
		for (uint32_t i = 0; i < 6000; i++)
			answer += handle(store, first + i * 2654435761u);
		if (write(connection, &answer, sizeof answer) != sizeof answer)
			break;
	}
	close(connection);
}

static void load(int connection, int requests) {
	prctl(PR_SET_NAME, "load");
	int64_t answer;
	for (uint32_t i = 0; i < static_cast<uint32_t>(requests); i++)
		if (write(connection, &i, sizeof i) != sizeof i || read(connection, &answer, sizeof answer) != sizeof answer)
			break;
	close(connection);
}

int main(int argc, char **argv) {
	const int requests = argc == 2 ? std::atoi(argv[1]) : 0;
	if (requests < 1)
		return std::fputs("usage: server MESSAGES\n", stderr), 2;
	std::vector<std::thread> threads;
	for (int i = 0; i < 2; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return std::perror("socketpair"), 1;
		threads.emplace_back(serve, pair[0]);
		threads.emplace_back(load, pair[1], requests);
	}
	for (std::thread &thread : threads)
		thread.join();
}
