"""Python with -X perf: functions, methods, a generator, a comprehension, recursion."""

import sys
import time


def churn(value: int, turns: int) -> int:
    for _ in range(turns):
        value = (value * 22695477 + 1) & 0xFFFFFFFF
    return value


class Price:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __lt__(self, other: "Price") -> bool:
        return churn(self.cents, 20) < other.cents


def numbers(count: int):
    for number in range(count):
        yield churn(number, 50)


def recurse(depth: int, value: int) -> int:
    return churn(value, 500) if depth == 0 else recurse(depth - 1, value) + 1


def main() -> None:
    end = time.process_time() + int(sys.argv[1]) / 1000
    sink = 1
    while time.process_time() < end:
        prices = sorted(Price(number + sink) for number in numbers(20))
        sink = prices[0].cents + recurse(8, sink)


main()
