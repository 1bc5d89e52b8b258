/* sha256.c: SHA-256 as FIPS 180-4 defines it, so that no host tool is needed for the member checksums. */
#define _GNU_SOURCE
#include "sha256.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* FIPS 180-4, 4.2.2: first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, int bits)
{
	return value >> bits | value << (32 - bits);
}

static void hash_block(struct sha256 *hash, const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, hash->state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + round_constant[i] + w[i];
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		hash->state[i] += v[i];
}

void sha256_start(struct sha256 *hash)
{
	/* FIPS 180-4, 5.3.3 */
	static const uint32_t initial[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(hash->state, initial, sizeof initial);
	hash->length_bytes = 0;
}

void sha256_add(struct sha256 *hash, const void *data, size_t length)
{
	const unsigned char *at = data;
	size_t used = hash->length_bytes % 64;

	hash->length_bytes += length;
	while (length) {
		size_t take = 64 - used < length ? 64 - used : length;

		if (!used && length >= 64) {
			hash_block(hash, at);
			take = 64;
		} else {
			memcpy(hash->block + used, at, take);
			used += take;
			if (used == 64) {
				hash_block(hash, hash->block);
				used = 0;
			}
		}
		at += take;
		length -= take;
	}
}

void sha256_finish(struct sha256 *hash, char hex[65])
{
	static const unsigned char padding[64] = { 0x80 };
	uint64_t bits = hash->length_bytes * 8;
	unsigned char tail[8];

	sha256_add(hash, padding, 1 + (119 - hash->length_bytes % 64) % 64);
	for (int i = 0; i < 8; i++)
		tail[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(hash, tail, 8);
	for (int i = 0; i < 8; i++)
		sprintf(hex + 8 * i, "%08x", hash->state[i]);
}

int sha256_file(const char *path, char hex[65])
{
	static unsigned char chunk[1 << 18];
	struct sha256 hash;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	sha256_start(&hash);
	while ((got = read(fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			sha256_add(&hash, chunk, (size_t)got);
	close(fd);
	if (got < 0)
		return errno;
	sha256_finish(&hash, hex);
	return 0;
}
