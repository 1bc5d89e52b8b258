#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
/* Two threads fault in pages; what they touch is made into cache lines by the script that patches the recording. */
static char *memory;
static void *reader(void *p) { volatile char *m = p; long s = 0; for (int i = 0; i < 12; i++) s += m[i * 4096 + 8]; return (void *)s; }
static void *writer(void *p) { volatile char *m = p; for (int i = 12; i < 24; i++) m[i * 4096 + 16] = 1; return 0; }
int main(void) { pthread_t a, b; memory = mmap(0, 24 << 12, 3, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0); madvise(memory, 24 << 12, MADV_NOHUGEPAGE);
 pthread_create(&a, 0, reader, memory); pthread_create(&b, 0, writer, memory); pthread_join(a, 0); pthread_join(b, 0); return 0; }
