// Go: methods, generics, closures, goroutines; Go programs keep frame pointers.
package main

import (
	"os"
	"sort"
	"strconv"
	"syscall"
)

type price struct{ cents uint32 }

//go:noinline
func churn(value uint32) uint32 {
	for turn := 0; turn < 20000; turn++ {
		value = value*22695477 + 1
	}
	return value
}

//go:noinline
func (p *price) raise(by uint32) uint32 { p.cents = churn(p.cents + by); return p.cents }

//go:noinline
func total[T any](items []T, of func(T) uint32) uint32 {
	var sum uint32
	for _, item := range items {
		sum += of(item)
	}
	return sum
}

//go:noinline
func recurse(depth int, value uint32) uint32 {
	if depth == 0 {
		return churn(value)
	}
	return recurse(depth-1, value) + 1
}

// CPU time in milliseconds.
func used() int {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return int(usage.Utime.Sec*1000 + usage.Utime.Usec/1000)
}

func main() {
	limit := 300
	if len(os.Args) > 1 {
		limit, _ = strconv.Atoi(os.Args[1])
	}
	var sink uint32
	for used() < limit {
		prices := []price{{1}, {sink}, {3}}
		sink = total(prices, func(p price) uint32 { return p.raise(sink) })
		sort.Slice(prices, func(i, j int) bool { return churn(prices[i].cents) < prices[j].cents })
		done := make(chan uint32)
		go func() { done <- recurse(7, sink) }()
		sink += <-done
		os.Getppid()
	}
}
