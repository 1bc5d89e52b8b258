/* sha256.h: SHA-256 (FIPS 180-4) over a stream. */
#ifndef PERFCASE_SHA256_H
#define PERFCASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
	uint32_t state[8];
	uint64_t length_bytes;
	unsigned char block[64];
};

void sha256_start(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t length);
void sha256_finish(struct sha256 *hash, char hex[65]);
/* Digest of a file. 0, or the errno. */
int sha256_file(const char *path, char hex[65]);

#endif
