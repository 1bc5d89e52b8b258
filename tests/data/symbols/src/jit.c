/* Generated code that a jitdump file tells of (Linux tools/perf/Documentation/jitdump-specification.txt): two functions
   are loaded, one of them moves, a third is loaded where it was; what lies at an address depends on the moment.
   The file is jit-PID.dump in the folder of the second argument. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = 62 };
/* push rbp; mov rbp,rsp; 1: dec edi; jnz 1b; pop rbp; ret */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3};
#elif defined(__aarch64__)
enum { MACHINE = 183 };
/* 1: subs w0,w0,#1; b.ne 1b; ret */
static const unsigned char CODE[] = {0x00, 0x04, 0x00, 0x71, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#endif

enum { LOAD = 0, MOVE = 1, DEBUG_INFO = 2, CLOSE = 3 };
static FILE *dump;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void put32(uint32_t value) { fwrite(&value, 4, 1, dump); }
static void put64(uint64_t value) { fwrite(&value, 8, 1, dump); }

static void record(uint32_t kind, uint32_t size) {
    put32(kind);
    put32(16 + size);
    put64(now());
}

static void debug_info(void *code, const char *file) {
    record(DEBUG_INFO, 16 + 2 * (16 + strlen(file) + 1));
    put64((uintptr_t)code);
    put64(2);
    for (int line = 0; line < 2; line++) {
        put64((uintptr_t)code + 4 * line);
        put32(10 + line);
        put32(0);
        fwrite(file, strlen(file) + 1, 1, dump);
    }
}

static void load(void *code, uint64_t index, const char *name) {
    memcpy(code, CODE, sizeof CODE);
    __builtin___clear_cache(code, (char *)code + sizeof CODE);
    debug_info(code, "generated.lang");
    record(LOAD, 40 + strlen(name) + 1 + sizeof CODE);
    put32(getpid());
    put32(syscall(SYS_gettid));
    put64((uintptr_t)code);
    put64((uintptr_t)code);
    put64(sizeof CODE);
    put64(index);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(CODE, sizeof CODE, 1, dump);
    fflush(dump);
}

static void move(void *from, void *to, uint64_t index) {
    memcpy(to, from, sizeof CODE);
    __builtin___clear_cache(to, (char *)to + sizeof CODE);
    record(MOVE, 48);
    put32(getpid());
    put32(syscall(SYS_gettid));
    put64((uintptr_t)to);
    put64((uintptr_t)from);
    put64((uintptr_t)to);
    put64(sizeof CODE);
    put64(index);
    fflush(dump);
}

static void run(void *code, long milliseconds) {
    void (*function)(unsigned) = (void (*)(unsigned))code;
    for (clock_t end = clock() + milliseconds * (CLOCKS_PER_SEC / 1000); clock() < end;)
        function(200000);
}

int main(int count, char **words) {
    long each = count > 1 ? atol(words[1]) / 5 : 60;
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", count > 2 ? words[2] : ".", getpid());
    dump = fopen(path, "w+");
    if (dump == NULL)
        return 1;
    put32(0x4a695444);
    put32(1);
    put32(40);
    put32(MACHINE);
    put32(0);
    put32(getpid());
    put64(now());
    put64(0);
    fflush(dump);
    /* This mapping is how perf learns of the file. */
    long page = sysconf(_SC_PAGESIZE);
    if (mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
        return 1;
    char *code = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    load(code, 1, "jit_moves");
    load(code + page, 2, "jit_stays");
    run(code, each);
    run(code + page, each);
    move(code, code + 8 * page, 1);
    run(code + 8 * page, each);
    load(code, 3, "jit_takes_its_place");
    run(code, each);
    run(code + page, each);
    record(CLOSE, 0);
    fclose(dump);
    return 0;
}
