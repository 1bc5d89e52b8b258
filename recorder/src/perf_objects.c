/* perf_objects.c: a walk over the mapping records of a perf.data (include/uapi/linux/perf_event.h) and its list of build ids
 * (tools/perf/util/build-id.h, for perf that writes them at the end). It runs as root over what perf wrote of hostile programs. */
#define _GNU_SOURCE
#include "perf_objects.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

enum {
	MISC_CPU_MODE = 7, MISC_KERNEL = 1, MISC_MMAP_DATA = 1 << 13, MISC_BUILD_ID = 1 << 14, MISC_BUILD_ID_SIZE = 1 << 15,
	FEATURE_BUILD_ID = 2,
	PROTECTION_EXEC = 4, OBJECTS_MOST = 50000, PLACES_MOST = 1 << 22,
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

/* Where a process had an object. */
struct place {
	uint64_t start, length;
	uint32_t pid, object;
};

struct places {
	struct place *list;
	size_t count;
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

/* The object, or NULL where there are too many. */
static struct object *add(struct objects *objects, pid_t pid, const char *path, const char *build_id, uint64_t inode, uint64_t generation)
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
			return NULL;
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
	return object;
}

static void add_place(struct objects *objects, struct places *places, const struct object *object, const struct mapped *map)
{
	if (places->count == PLACES_MOST) {
		objects->touched.doubt = "too many mappings";
		return;
	}
	if (!(places->count & (places->count - 1)))
		places->list = checked_realloc(places->list, (places->count ? places->count * 2 : 1) * sizeof *places->list);
	places->list[places->count++] =
		(struct place){ map->address, map->length, map->pid, (uint32_t)(object - objects->list) };
}

static void take_mapping(struct objects *objects, struct places *places, const struct perf_reader *perf)
{
	struct perf_record record = perf->record;
	const char *body = perf->body;
	size_t length = perf->length;
	struct mapped2 map;
	struct object *object;
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
	if (body[head] == '/' && body[head + 1] != '/' && strlen(body + head) < 4096 &&
	    (object = add(objects, (pid_t)map.head.pid, body + head, build_id, inode, generation)))
		add_place(objects, places, object, &map.head);
}

/* The build ids that perf found at the end, by path; they hold for objects whose records have none. */
static void take_build_ids(struct objects *objects, struct perf_reader *perf, uint64_t offset, uint64_t size)
{
	struct perf_record record;
	char path[4096];

	while (size >= 36 && !perf_read_at(perf, offset, &record, sizeof record) && record.size >= 36 && record.size <= size) {
		unsigned char id[28]; /* pid, 20 bytes, and their number in newer files */
		size_t length = record.size - 36u, count = 20;

		if (length >= sizeof path || perf_read_at(perf, offset + 8, id, sizeof id) ||
		    perf_read_at(perf, offset + 36, path, length))
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

/* What a sample lies in, and which processes have any. */
static void find_touched(struct objects *objects, const struct places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		const struct place *place = &places->list[i];
		struct object *object = &objects->list[place->object];

		object->is_touched = object->is_touched || is_touched(&objects->touched, (pid_t)place->pid, place->start, place->length);
	}
	for (uint32_t pid = 0; pid < PID_MOST; pid++)
		if (objects->pids[pid / 8] >> pid % 8 & 1 && !is_sampled(&objects->touched, (pid_t)pid))
			objects->pids[pid / 8] &= (unsigned char)~(1 << pid % 8);
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
		int several = 0, touched = list[first].is_touched;

		for (end = first + 1; end < objects->count && !strcmp(list[end].path, list[first].path); end++) {
			touched |= list[end].is_touched;
			several |= list[end - 1].inode && (list[end].inode != list[end - 1].inode ||
							   (list[end - 1].generation && list[end].generation != list[end - 1].generation));
		}
		for (size_t i = first; several && i < end; i++)
			if (list[i].inode) {
				list[i].rivals = several;
				list[i].is_touched = touched; /* which of them it was is not known */
				several = OTHER_RIVAL;
			}
	}
}

/* The samples of a file whose mappings are told by another. */
static void take_samples(struct objects *objects, const char *path)
{
	struct perf_reader perf;
	const char *trouble = perf_open(&perf, path);

	if (trouble) {
		objects->touched.doubt = trouble;
		return;
	}
	touched_begin(&objects->touched, &perf);
	while (perf_next(&perf))
		touched_record(&objects->touched, &perf);
	if (perf_is_cut(&perf))
		objects->touched.doubt = "the file of callchains is cut or damaged";
	perf_close(&perf);
}

const char *read_perf_objects(const char *path, const char *samples, struct objects *objects)
{
	struct places places = { NULL, 0 };
	struct perf_reader perf;
	const char *trouble;
	uint64_t section[2];
	unsigned index = 0;

	if (!(objects->pids = calloc(PID_MOST / 8, 1)))
		die("out of memory");
	if ((trouble = perf_open(&perf, path))) {
		objects->touched.doubt = trouble;
		return trouble;
	}
	touched_begin(&objects->touched, &perf);
	if (objects->is_all)
		objects->touched.doubt = "all are asked for";
	while (perf_next(&perf))
		if (perf.record.type == RECORD_MMAP || perf.record.type == RECORD_MMAP2)
			take_mapping(objects, &places, &perf);
		else
			touched_record(&objects->touched, &perf);
	if (perf_is_cut(&perf))
		objects->touched.doubt = trouble = "it is cut or damaged: what was mapped later is not known";
	if (samples)
		take_samples(objects, samples);
	touched_end(&objects->touched);
	find_touched(objects, &places);
	free(places.list);
	for (int bit = 0; perf.end != UINT64_MAX && bit <= FEATURE_BUILD_ID; bit++)
		if (perf.features >> bit & 1) {
			if (bit == FEATURE_BUILD_ID && !perf_read_at(&perf, perf.end + 16u * index, section, sizeof section))
				take_build_ids(objects, &perf, section[0], section[1]);
			index++;
		}
	perf_close(&perf);
	if (objects->count) {
		qsort(objects->list, objects->count, sizeof *objects->list, by_file);
		find_rivals(objects);
		qsort(objects->list, objects->count, sizeof *objects->list, by_use);
	}
	return trouble;
}
