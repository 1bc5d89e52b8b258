#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, robust, inherit;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
static int told;
static void hold(pthread_mutex_t *m, int ms) { pthread_mutex_lock(m); usleep(ms * 1000); pthread_mutex_unlock(m); }
static void *holder(void *x) {
	pthread_setname_np(pthread_self(), "holder");
	hold(&normal, 40); usleep(60000); hold(&robust, 40); usleep(60000); hold(&inherit, 40); usleep(60000);
	pthread_mutex_lock(&cond_lock); told = 1; pthread_cond_signal(&cond); pthread_mutex_unlock(&cond_lock);
	usleep(60000);
	return x;
}
static void *waiter(void *x) {
	pthread_setname_np(pthread_self(), "waiter");
	usleep(15000); hold(&normal, 1); usleep(84000); hold(&robust, 1); usleep(75000); hold(&inherit, 1);
	pthread_mutex_lock(&cond_lock); while (!told) pthread_cond_wait(&cond, &cond_lock); pthread_mutex_unlock(&cond_lock);
	return x;
}
int main(void) {
	pthread_mutexattr_t a; pthread_t h, w;
	pthread_mutexattr_init(&a); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST); pthread_mutex_init(&robust, &a);
	pthread_mutexattr_init(&a); pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT); pthread_mutex_init(&inherit, &a);
	pthread_create(&h, 0, holder, 0); pthread_create(&w, 0, waiter, 0);
	pthread_join(h, 0); pthread_join(w, 0);
	printf("%p %p %p %p\n", (void *)&normal, (void *)&robust, (void *)&inherit, (void *)&cond);
	return 0;
}
