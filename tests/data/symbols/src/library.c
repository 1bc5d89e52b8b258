/* A shared library: an exported function, a static one that only .symtab knows, an alias, a callback. */
#include <stdlib.h>
#include "work.h"

static __attribute__((noinline)) unsigned hidden_in_library(unsigned value) {
    for (int turn = 0; turn < 2000; turn++)
        value = value * 1664525u + 1013904223u;
    return value;
}

static __attribute__((noinline)) int compare(const void *left, const void *right) {
    unsigned one = hidden_in_library(*(const unsigned *)left), other = *(const unsigned *)right;
    return (one > other) - (one < other);
}

__attribute__((noinline)) unsigned library_entry(unsigned value) {
    unsigned numbers[16];
    for (int index = 0; index < 16; index++)
        numbers[index] = value = value * 69069u + 1;
    qsort(numbers, 16, sizeof *numbers, compare);
    return numbers[0] + hidden_in_library(value);
}

unsigned library_alias(unsigned value) __attribute__((alias("library_entry")));
