/* What headers that `situ gen --lang c` writes have in common: bulk fields, texts, errors. Programs include
 * the generated headers. Of this one they use SITU_SET_TEXT. */
#ifndef SITU_MESSAGE_H
#define SITU_MESSAGE_H

#include <situ.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#define SITU_STATIC_ASSERT(condition_, text_) static_assert(condition_, text_)
#define SITU_ALIGNOF(type_) alignof(type_)
extern "C" {
#else
#define SITU_STATIC_ASSERT(condition_, text_) _Static_assert(condition_, text_)
#define SITU_ALIGNOF(type_) _Alignof(type_)
#endif

/* A bulk field as it lies in a message: where its elements are in the body, and how many. Generated functions
 * give the elements. */
typedef struct situ_bulk {
  /* In bytes, from the beginning of the body. */
  uint64_t offset;
  /* The number of elements. */
  uint64_t len;
} situ_bulk;

/* Sets a member of type string<N> to a text that ends with a zero. Returns false, and changes nothing, if the
 * text is longer than N bytes: if (!SITU_SET_TEXT(message->frame_id, "lidar")) ... */
#define SITU_SET_TEXT(member_, text_) \
  situ_set_text(&(member_).len, (member_).data, sizeof((member_).data), (text_))

static inline bool situ_set_text(uint32_t* len, char* data, size_t size, const char* text) {
  const size_t length = strlen(text);
  if (length >= size) return false;
  memmove(data, text, length + 1);
  *len = (uint32_t)length;
  return true;
}

/* The rest is for generated code. */

/* Whether a byte that another process wrote is a valid `bool`. Reading it as one could be undefined. */
static inline bool situ_is_bool(const bool* value) {
  unsigned char byte;
  memcpy(&byte, value, 1);
  return byte <= 1;
}

/* Fills an error with the name of a type and a sentence, and returns the status. */
static inline situ_status situ_refuse(situ_error* error, situ_status status, const char* type,
                                      const char* problem) {
  if (error) {
    error->status = status;
    snprintf(error->text, sizeof(error->text), "%s: %s", type, problem);
  }
  return status;
}

/* Releases a sample that does not hold a flat message of this size, and returns the error. */
static inline situ_status situ_expect_flat(situ_sample* sample, size_t size, const char* type,
                                           situ_error* error) {
  const bool is_flat = sample->encoding == SITU_FLAT;
  if (is_flat && sample->head != NULL && sample->head_size == size) return SITU_OK;
  situ_sample_release(sample);
  if (!is_flat) {
    return situ_refuse(error, SITU_ERROR_TYPE, type,
                       "the message is serialized, and C reads flat messages only; publish the flat form of "
                       "the type, or subscribe in another language");
  }
  return situ_refuse(error, SITU_ERROR_MALFORMED, type, "the message has another size than its type");
}

/* Places the next bulk field in a body that ends at `end`. Returns false if it has too many elements. */
static inline bool situ_bulk_place(situ_bulk* bulk, uint64_t len, uint64_t size, uint64_t bound,
                                   uint64_t* end) {
  const uint64_t offset = (*end + 63) / 64 * 64;
  /* No body comes near to this size, and no sum below it overflows. */
  const uint64_t most = (uint64_t)1 << 48;
  if (len > bound || len > most / size || offset > most) return false;
  bulk->offset = offset;
  bulk->len = len;
  *end = offset + len * size;
  return true;
}

/* The elements of the bulk field whose descriptor lies at `at` in the head, and their number. NULL and 0 if
 * they do not lie in the body as they should. */
static inline const void* situ_bulk_at(const void* head, const void* body, size_t body_size, size_t at,
                                       uint64_t size, uint64_t align, uint64_t bound, size_t* count) {
  situ_bulk bulk;
  if (count) *count = 0;
  if (head == NULL) return NULL;
  memcpy(&bulk, (const char*)head + at, sizeof(bulk));
  if (bulk.len > bound || bulk.offset > body_size || bulk.len > (body_size - bulk.offset) / size ||
      bulk.offset % align != 0) {
    return NULL;
  }
  /* An empty field needs no body. */
  if (body == NULL) return bulk.len == 0 ? head : NULL;
  if (count) *count = (size_t)bulk.len;
  return (const char*)body + bulk.offset;
}

#ifdef __cplusplus
}
#endif

#endif
