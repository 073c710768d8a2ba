/* Memory of a publisher before its first message: fixed slots, reservations, huge pages, NUMA nodes. The
 * rules of situ.h hold here; situ_publisher_trim (situ.h) gives memory back.
 *
 *   const situ_placement in_slots = {.strategy = SITU_FIXED_SLOTS};
 *   const situ_memory_options slots = {.fixed_slots = 16, .slot_size = 1 << 20, .huge_pages = 1};
 *   situ_publisher_create_with(node, "images", &image_type, NULL, &in_slots, &slots, &publisher, NULL);
 */
#ifndef SITU_MEMORY_H
#define SITU_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "situ.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the memory of a publisher is made. Zeroes are the defaults. It is that of its messages or, if they lie
 * in another domain, of their bodies. */
typedef struct situ_memory_options {
  /* With SITU_FIXED_SLOTS: the number of slots, at most 65536, and the size in bytes of the largest message,
   * head and body together. A publisher that keeps `depth` messages, of which subscribers hold n more, needs
   * `depth` + n + 1 slots. */
  uint32_t fixed_slots;
  uint64_t slot_size;
  /* Not 0: huge pages, where whole ones fit. */
  uint32_t huge_pages;
  /* Not 0: memory of the NUMA node `node`, as long as it has some left. */
  uint32_t prefer_node;
  uint32_t node;
} situ_memory_options;

/* As situ_publisher_create_in, with options; NULL: the defaults. Without memory for all fixed slots there is
 * no publisher, and the error is SYSTEM. INVALID_ARGUMENT: also fixed slots without a number or a size, and
 * these without SITU_FIXED_SLOTS. */
situ_status situ_publisher_create_with(const situ_node* node, const char* topic, const situ_type* type,
                                       const situ_publisher_qos* qos, const situ_placement* placement,
                                       const situ_memory_options* memory, situ_publisher** publisher,
                                       situ_error* error);

/* Gives memory to `messages` messages of at most `bytes` bytes each, head and body together. The next loans
 * then make no system call, and writing them makes no page fault. These count free slots: messages that stay
 * available, samples and loans are not among them. The memory stays until situ_publisher_trim, and smaller
 * messages use it, too. In a ring it is that of the next messages. After an error nothing is reserved.
 * Errors: INVALID_ARGUMENT, FORKED, NO_MEMORY, SYSTEM. */
situ_status situ_publisher_reserve(situ_publisher* publisher, size_t messages, size_t bytes,
                                   situ_error* error);

/* What the kernel answered to a wish for pages. Memory works with any pages. */
typedef enum situ_page_answer {
  SITU_PAGES_NOT_ASKED = 0,
  SITU_PAGES_DONE = 1,
  /* With an error number; EOPNOTSUPP in a domain without such pages. */
  SITU_PAGES_REFUSED = 2
} situ_page_answer;

/* What became of the wishes for huge pages and for a NUMA node. */
typedef struct situ_pages {
  /* A situ_page_answer for huge pages, and the error number of a refusal. */
  uint32_t huge;
  int32_t huge_errno;
  /* The bytes of the last reservation, or of fixed slots, that the kernel has made huge pages of. It may have
   * accepted the wish and made none. */
  uint64_t huge_bytes;
  /* The same for the NUMA node. */
  uint32_t node;
  int32_t node_errno;
} situ_pages;

/* What became of the wishes; all zeroes for NULL. */
situ_pages situ_publisher_pages(const situ_publisher* publisher);

#ifdef __cplusplus
}
#endif

#endif
