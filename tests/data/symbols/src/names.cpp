// C++: templates, inlined functions, namespaces, lambdas, operators, virtual calls, standard library callbacks.
#include <algorithm>
#include <array>
#include <ctime>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

volatile unsigned sink;

namespace shop {
namespace {
[[gnu::noinline]] unsigned anonymous(unsigned value) {
    for (int turn = 0; turn < 5000; turn++)
        value = value * 22695477u + 1;
    return value;
}
}  // namespace

struct Money {
    unsigned cents;
    [[gnu::noinline]] Money operator+(const Money &other) const { return {anonymous(cents ^ other.cents)}; }
    [[gnu::noinline]] bool operator<(const Money &other) const { return anonymous(cents) < anonymous(other.cents); }
    [[gnu::noinline]] explicit operator bool() const { return anonymous(cents) != 0; }
    [[gnu::noinline]] unsigned operator()(unsigned turn) const { return anonymous(cents + turn); }
};

template <typename Item, unsigned Size>
struct Basket {
    std::array<Item, Size> items{};
    [[gnu::noinline]] Item total() const {
        Item sum{};
        for (const Item &item : items)
            sum = sum + item;
        return sum;
    }
};

struct Shelf {
    virtual ~Shelf() = default;
    virtual unsigned take(unsigned) = 0;
};

template <typename... Parts>
struct Deep final : Shelf {
    [[gnu::noinline]] unsigned take(unsigned value) override { return anonymous(value + sizeof...(Parts)); }
};
}  // namespace shop

// Two levels that the compiler inlines into their caller: only DWARF knows them.
static inline __attribute__((always_inline)) unsigned inner_inline(unsigned value) {
    for (int turn = 0; turn < 8000; turn++)
        value = value * 134775813u + 1;
    return value;
}
static inline __attribute__((always_inline)) unsigned outer_inline(unsigned value) { return inner_inline(value) ^ 7u; }

[[gnu::noinline]] static unsigned with_inlines(unsigned value) { return outer_inline(value) + 1; }

template <typename Function>
[[gnu::noinline]] unsigned apply(Function &&function, unsigned value) {
    return function(value) + 1;
}

int main(int count, char **words) {
    const long limit = count > 1 ? std::atol(words[1]) : 300;
    std::unique_ptr<shop::Shelf> shelf = std::make_unique<shop::Deep<int, std::string, std::vector<char>>>();
    std::function<unsigned(unsigned)> stored = [](unsigned value) { return shop::anonymous(value); };
    shop::Basket<shop::Money, 4> basket;
    std::vector<shop::Money> prices(12);
    while (std::clock() / (CLOCKS_PER_SEC / 1000) < limit) {
        for (shop::Money &price : prices)
            price.cents = sink = sink * 69069u + 1;
        basket.items[0] = prices[3];
        std::sort(prices.begin(), prices.end());
        sink = basket.total().cents + with_inlines(sink) + shelf->take(sink) + stored(sink);
        sink = sink + apply([&](unsigned value) __attribute__((noinline)) { return with_inlines(value + sink); }, sink);
        sink = sink + apply(prices[0], sink) + (prices[1] ? 1 : 0);
    }
    return 0;
}
