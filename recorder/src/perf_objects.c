/* perf_objects.c: a walk over the mapping records of a perf.data (include/uapi/linux/perf_event.h) and its list of build ids
 * (tools/perf/util/build-id.h, for perf that writes them at the end). It runs as root over what perf wrote of hostile programs. */
#define _GNU_SOURCE
#include "perf_objects.h"
#include "perf_stream.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD_MMAP = 1, RECORD_MMAP2 = 10, RECORD_AUXTRACE = 71,
	MISC_CPU_MODE = 7, MISC_KERNEL = 1, MISC_MMAP_DATA = 1 << 13, MISC_BUILD_ID = 1 << 14, MISC_BUILD_ID_SIZE = 1 << 15,
	FEATURE_BUILD_ID = 2,
	PROTECTION_EXEC = 4, OBJECTS_MOST = 50000, KEY_MOST = 4096 + ELF_BUILD_ID_HEX + 32,
};

struct record_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
};

/* What both kinds begin with. */
struct mapped {
	uint32_t pid, tid;
	uint64_t address, length, offset;
};

struct mapped2 {
	struct mapped head;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t build_id_size, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t protection, flags;
};

static uint64_t hash_of(const char *path, const char *build_id, uint64_t inode)
{
	uint64_t hash = 0xcbf29ce484222325u ^ inode;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
	for (; *build_id; build_id++)
		hash = (hash ^ (unsigned char)*build_id) * 0x100000001b3u;
	return hash;
}

static void grow(struct objects *objects)
{
	size_t count = objects->slot_count ? objects->slot_count * 2 : 1024;

	free(objects->slots);
	if (!(objects->slots = calloc(count, sizeof *objects->slots)))
		die("out of memory");
	objects->slot_count = count;
	for (size_t i = 0; i < objects->count; i++) {
		struct object *object = &objects->list[i];
		size_t slot = hash_of(object->path, object->build_id, object->inode) & (count - 1);

		while (objects->slots[slot])
			slot = (slot + 1) & (count - 1);
		objects->slots[slot] = i + 1;
	}
}

static void add(struct objects *objects, pid_t pid, const char *path, const char *build_id, uint64_t inode, uint64_t generation)
{
	struct object *object;
	size_t slot;

	if (objects->count * 2 >= objects->slot_count)
		grow(objects);
	slot = hash_of(path, build_id, inode) & (objects->slot_count - 1);
	while (objects->slots[slot]) {
		object = &objects->list[objects->slots[slot] - 1];
		if (object->inode == inode && object->generation == generation && !strcmp(object->path, path) &&
		    !strcmp(object->build_id, build_id))
			break;
		slot = (slot + 1) & (objects->slot_count - 1);
	}
	if (!objects->slots[slot]) {
		if (objects->count == OBJECTS_MOST) {
			objects->left_out++;
			return;
		}
		if (!(objects->count & (objects->count - 1)))
			objects->list = checked_realloc(objects->list, (objects->count ? objects->count * 2 : 1) *
									       sizeof *objects->list);
		object = &objects->list[objects->count++];
		*object = (struct object){ .path = checked_strdup(path), .inode = inode, .generation = generation };
		strcpy(object->build_id, build_id);
		objects->slots[slot] = objects->count;
	}
	object->mapped_count++;
	if (!object->pid_count || object->pids[(object->pid_count - 1) % OBJECT_PIDS] != pid)
		object->pids[object->pid_count++ % OBJECT_PIDS] = pid;
}

/* `body` follows the record's head; its last byte is a zero of ours. */
static void take_mapping(struct objects *objects, struct record_header record, const char *body, size_t length)
{
	struct mapped2 map;
	char build_id[ELF_BUILD_ID_HEX] = "";
	size_t head = record.type == RECORD_MMAP ? sizeof map.head : sizeof map;
	uint64_t inode = 0, generation = 0;

	if (length <= head || (record.misc & MISC_CPU_MODE) == MISC_KERNEL)
		return;
	memcpy(&map, body, head);
	if (map.head.pid >= PID_MOST)
		return; /* the kernel's own have -1 */
	objects->pids[map.head.pid / 8] |= (unsigned char)(1 << map.head.pid % 8);
	if (record.type == RECORD_MMAP) {
		if (record.misc & MISC_MMAP_DATA)
			return;
	} else {
		if (!(map.protection & PROTECTION_EXEC))
			return;
		if (!(record.misc & MISC_BUILD_ID))
			inode = map.inode, generation = map.generation;
		else if (map.build_id_size <= sizeof map.build_id)
			to_hex(map.build_id, map.build_id_size, build_id);
	}
	/* "//anon", "[vdso]", "[heap]" and others are no files */
	if (body[head] == '/' && body[head + 1] != '/' && strlen(body + head) < 4096)
		add(objects, (pid_t)map.head.pid, body + head, build_id, inode, generation);
}

/* The build ids that perf found at the end, by path; they hold for objects whose records have none. */
static void take_build_ids(struct objects *objects, struct perf_stream *file, uint64_t offset, uint64_t size)
{
	struct record_header record;
	char path[4096];

	while (size >= 36 && !perf_stream_go(file, offset) && !perf_stream_read(file, &record, 8) && record.size >= 36 &&
	       record.size <= size) {
		unsigned char id[28]; /* pid, 20 bytes, and their number in newer files */
		size_t length = record.size - 36u, count = 20;

		if (length >= sizeof path || perf_stream_read(file, id, sizeof id) || perf_stream_read(file, path, length))
			return;
		path[length] = 0;
		if (record.misc & MISC_BUILD_ID_SIZE && id[24] <= 20)
			count = id[24];
		for (size_t i = 0; i < objects->count; i++)
			if (!*objects->list[i].build_id && !strcmp(objects->list[i].path, path))
				to_hex(id + 4, count, objects->list[i].build_id);
		offset += record.size;
		size -= record.size;
	}
}

static int by_use(const void *left, const void *right)
{
	const struct object *a = left, *b = right;

	if (a->mapped_count != b->mapped_count)
		return a->mapped_count > b->mapped_count ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int by_file(const void *left, const void *right)
{
	const struct object *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	if (!order)
		order = (a->inode > b->inode) - (a->inode < b->inode);
	return order ? order : (a->generation > b->generation) - (a->generation < b->generation);
}

/* Marks files that had the same path, one after the other or in different containers, and no build id in their records. */
static void find_rivals(struct objects *objects)
{
	struct object *list = objects->list;

	for (size_t first = 0, end; first < objects->count; first = end) {
		int several = 0;

		for (end = first + 1; end < objects->count && !strcmp(list[end].path, list[first].path); end++)
			several |= list[end - 1].inode && (list[end].inode != list[end - 1].inode ||
							   (list[end - 1].generation && list[end].generation != list[end - 1].generation));
		for (size_t i = first; several && i < end; i++)
			if (list[i].inode) {
				list[i].rivals = several;
				several = OTHER_RIVAL;
			}
	}
}

const char *read_perf_objects(const char *path, struct objects *objects)
{
	/* struct perf_file_header: magic size attr_size attrs data event_types features */
	uint64_t header[13], end, at, section[2];
	static char body[1 << 16];
	struct record_header record;
	struct perf_stream file;
	const char *trouble = NULL;
	int index = 0;

	if (!(objects->pids = calloc(PID_MOST / 8, 1)))
		die("out of memory");
	if (perf_stream_open(&file, path))
		return strerror(errno);
	if (perf_stream_read(&file, header, sizeof header) || memcmp(header, "PERFILE2", 8)) {
		perf_stream_close(&file);
		return "not a perf.data of this machine";
	}
	at = header[5];
	end = header[6] ? at + header[6] : UINT64_MAX;
	while (at < end && !perf_stream_go(&file, at) && !perf_stream_read(&file, &record, sizeof record)) {
		uint64_t skip = 0;

		if (record.size < sizeof record)
			break;
		if (record.type == RECORD_MMAP || record.type == RECORD_MMAP2) {
			size_t length = record.size - sizeof record;

			if (perf_stream_read(&file, body, length))
				break;
			body[length] = 0;
			take_mapping(objects, record, body, length);
		} else if (record.type == RECORD_AUXTRACE && (perf_stream_read(&file, &skip, 8) || skip > INT64_MAX / 2)) {
			break; /* trace bytes follow the record */
		}
		at += record.size + skip;
	}
	if (header[6] && at < end)
		trouble = "it is cut or damaged: what was mapped later is not known";
	for (int bit = 0; header[6] && bit <= FEATURE_BUILD_ID; bit++)
		if (header[9] >> bit & 1) {
			if (bit == FEATURE_BUILD_ID && !perf_stream_go(&file, end + 16u * (unsigned)index) &&
			    !perf_stream_read(&file, section, sizeof section))
				take_build_ids(objects, &file, section[0], section[1]);
			index++;
		}
	perf_stream_close(&file);
	if (objects->count) {
		qsort(objects->list, objects->count, sizeof *objects->list, by_file);
		find_rivals(objects);
		qsort(objects->list, objects->count, sizeof *objects->list, by_use);
	}
	return trouble;
}
