/* In which memory a node's large messages lie: the payload of rmw's options for publishers and subscriptions.
 *
 *   rmw_situ_domain_t domain = rmw_situ_domain("cuda:0");
 *   rmw_publisher_options_t options = rmw_get_default_publisher_options();
 *   options.rmw_specific_publisher_payload = &domain;
 *
 * The names are those of Situ's memory domains: "host", "emulated:0", "vulkan:0", "cuda:0". Without a number
 * it is the first device. Creating an endpoint fails if there is no such domain. The struct is read while the
 * endpoint is created, and not afterwards.
 *
 * It concerns messages with strings or sequences; those of fixed size lie on the host. A publisher writes
 * them into the domain. A subscription that takes a loan of a message in its domain gets one whose sequences
 * of numbers from 4 KiB on have addresses of the device (on CUDA: what kernels and cudaMemcpy understand),
 * unless their numbers have 8 bytes; all other members lie on the host. Work on them must be done before the
 * loan is returned. Taking into an ordinary message copies it to the host. Messages of other domains are
 * copied into the subscription's, once for all subscribers there.
 */
#ifndef RMW_SITU_DOMAIN_H
#define RMW_SITU_DOMAIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "SITUDOMN": payloads for other middleware are recognized. */
#define RMW_SITU_DOMAIN_MAGIC UINT64_C(0x4e4d4f4455544953)

typedef struct rmw_situ_domain_t {
  uint64_t magic;
  const char* name;
} rmw_situ_domain_t;

static inline rmw_situ_domain_t rmw_situ_domain(const char* name) {
  rmw_situ_domain_t domain;
  domain.magic = RMW_SITU_DOMAIN_MAGIC;
  domain.name = name;
  return domain;
}

#ifdef __cplusplus
}
#endif

#endif
