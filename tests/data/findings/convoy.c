/* Threads that all need one mutex: `convoy` holds it for 3 ms at a time, `convoy short` for as long as an addition takes. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int short_hold;
static volatile long total;

static void *work(void *unused) {
	for (int i = 0; i < 80; i++) {
		pthread_mutex_lock(&lock);
		total++;
		if (!short_hold)
			usleep(3000);
		pthread_mutex_unlock(&lock);
		usleep(short_hold ? 15000 : 1000);
	}
	return unused;
}

int main(int argc, char **argv) {
	pthread_t threads[6];
	(void)argv;
	short_hold = argc > 1;
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
