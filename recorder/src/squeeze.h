/* squeeze.h: raw data that are compressed while they are recorded (squeeze.c). */
#ifndef PERFCASE_SQUEEZE_H
#define PERFCASE_SQUEEZE_H

#include <stdint.h>

/* How many bytes of a folder wait for their compression, and how many are compressed. */
void squeeze_totals(const char *folder, int64_t *waiting_bytes, int64_t *stored_bytes);
/* How many bytes a member (PATH.zst) had before it was squeezed; -1: it was not. */
int64_t squeezed_from(const char *folder, const char *member);

#endif
