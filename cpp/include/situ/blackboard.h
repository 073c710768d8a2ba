/* Blackboards: the latest value of each of some keys. One writer replaces values; readers copy them, and
 * never make the writer wait. The rules of situ.h hold here.
 *
 *   const char* keys[] = {"arm", "base"};
 *   situ_blackboard_writer* writer;
 *   situ_blackboard_writer_create(node, "robot/limits", &limit_type, keys, 2, &writer, NULL);
 *   situ_blackboard_writer_set(writer, 0, &limit, sizeof limit, NULL, NULL);
 *
 *   situ_blackboard_reader* reader;
 *   situ_blackboard_reader_create(node, "robot/limits", &limit_type, &reader, NULL);
 *   situ_blackboard_reader_get(reader, 0, &limit, sizeof limit, NULL, NULL);
 *
 * Only one thread may use a writer at a time. All threads may use a reader at once. Setting and getting do
 * not allocate and make no system call.
 */
#ifndef SITU_BLACKBOARD_H
#define SITU_BLACKBOARD_H

#include <stddef.h>
#include <stdint.h>

#include "situ.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_blackboard_writer situ_blackboard_writer;
typedef struct situ_blackboard_reader situ_blackboard_reader;

/* Creates a blackboard and its writer. The type is flat, and its `fixed_size` that of each value: 1 to 65536
 * bytes. There are 1 to 65536 keys, each a text of 1 to 255 bytes without control characters; the key's
 * position is that in `keys`. If the last writer was killed and had the same type and keys, its values stay.
 * Errors: INVALID_ARGUMENT, TYPE, BUSY if it has a writer, SYSTEM, UNSAFE, MALFORMED, FORKED, REMOVED. */
situ_status situ_blackboard_writer_create(const situ_node* node, const char* name, const situ_type* type,
                                          const char* const* keys, size_t key_count,
                                          situ_blackboard_writer** writer, situ_error* error);

/* Also removes the blackboard's name. Readers keep the last values. */
void situ_blackboard_writer_destroy(situ_blackboard_writer* writer);

/* Replaces the value of the key at a position. `version` may be NULL; it receives the number of the value,
 * from 1 on. Errors: INVALID_ARGUMENT, FORKED. */
situ_status situ_blackboard_writer_set(situ_blackboard_writer* writer, size_t position, const void* value,
                                       size_t size, uint64_t* version, situ_error* error);

/* Opens a blackboard: SITU_EMPTY if there is none. Errors: INVALID_ARGUMENT, TYPE, SYSTEM, UNSAFE, MALFORMED,
 * REMOVED. */
situ_status situ_blackboard_reader_create(const situ_node* node, const char* name, const situ_type* type,
                                          situ_blackboard_reader** reader, situ_error* error);
void situ_blackboard_reader_destroy(situ_blackboard_reader* reader);

/* The keys: their number; the one at a position, NULL behind the last; and the position of a key, SITU_EMPTY
 * if there is no such key. Errors: INVALID_ARGUMENT. */
size_t situ_blackboard_reader_key_count(const situ_blackboard_reader* reader);
const char* situ_blackboard_reader_key(const situ_blackboard_reader* reader, size_t position);
situ_status situ_blackboard_reader_find(const situ_blackboard_reader* reader, const char* key,
                                        size_t* position, situ_error* error);

/* Copies the last value of the key at a position: SITU_EMPTY if it was never set. `size` is the size of a
 * value. `version` may be NULL. Unless the result is SITU_OK, `value` holds anything. The writer may be
 * hostile: check the copy (with the `_check` function of generated types) before use. Errors:
 * INVALID_ARGUMENT, BUSY if the value was replaced during every attempt, REMOVED, FORKED. */
situ_status situ_blackboard_reader_get(const situ_blackboard_reader* reader, size_t position, void* value,
                                       size_t size, uint64_t* version, situ_error* error);

/* How often the key at a position was set, and how many values of all keys were set: for polling. 0 for NULL
 * and behind the last key. */
uint64_t situ_blackboard_reader_version(const situ_blackboard_reader* reader, size_t position);
uint64_t situ_blackboard_reader_changes(const situ_blackboard_reader* reader);

typedef enum situ_writer_state {
  SITU_WRITER_ALIVE = 0,
  /* Its process has ended without destroying it. The next writer with the same type and keys goes on here. */
  SITU_WRITER_DEAD = 1,
  /* It was destroyed, or replaced by one with other keys. No value will be set: open the blackboard again. */
  SITU_WRITER_LEFT = 2
} situ_writer_state;

/* The situ_writer_state. Reads files: do not call it for each value. SITU_WRITER_LEFT for NULL. */
uint32_t situ_blackboard_reader_writer(const situ_blackboard_reader* reader);

#ifdef __cplusplus
}
#endif

#endif
