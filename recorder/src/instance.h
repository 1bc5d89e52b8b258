/* instance.h: a private ftrace instance and its owner. */
#ifndef PERFCASE_INSTANCE_H
#define PERFCASE_INSTANCE_H

/* Makes the instance and returns its locked folder: nobody sweeps it while that is open. */
int instance_make(const char *path);
/* Stops and removes it; -1 (and says so) if it stays busy for 2 s. */
int instance_remove(const char *path);

#endif
