/* conditions.h: what ends a flight by itself: --when of perfcase-record. */
#ifndef PERFCASE_CONDITIONS_H
#define PERFCASE_CONDITIONS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct condition;

struct conditions {
	struct condition *list;
	size_t count;
};

/* NULL, or what is wrong with a text. */
const char *conditions_add(struct conditions *conditions, const char *text);
/* None counts before `deaf_until_ns`; what holds then has to have ended in between. */
void conditions_begin(struct conditions *conditions, int64_t deaf_until_ns);
/* To call once a second. The text of one that is met, with what it saw; or NULL. */
const char *conditions_look(struct conditions *conditions, int64_t now_ns);
/* What else to wait for; sets *wait_ns lower where something has to be done before. Then conditions_answer, which returns as _look does. */
size_t conditions_await(struct conditions *conditions, struct pollfd *files, size_t most, int64_t now_ns, int64_t *wait_ns);
const char *conditions_answer(struct conditions *conditions, int64_t now_ns);

#endif
