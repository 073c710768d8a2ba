/* Batches: several messages published by one call, and several taken by one call. The rules of situ.h hold
 * here.
 *
 *   situ_loan loans[16];
 *   ...lend and fill each of them...
 *   size_t published;
 *   if (situ_loan_publish_all(loans, 16, &published, NULL, &error) < 0) {
 *     ...loans[published] to loans[15] are still lent: publish them again or discard them...
 *   }
 *
 *   situ_sample samples[16];
 *   size_t taken;
 *   situ_subscriber_take_many(subscriber, 16, samples, &taken, &error);
 *   for (size_t i = 0; i < taken; ++i) {
 *     ...read samples[i].head and samples[i].body...
 *     situ_sample_release(&samples[i]);
 *   }
 *
 * These functions do not allocate.
 */
#ifndef SITU_BATCH_H
#define SITU_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "situ.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Publishes `count` loans in this order. Usually sleeping subscribers are woken once, and all messages have
 * one time stamp. While a tracer watches, or the publisher makes eager copies, each is published by itself;
 * so are loans of several publishers, each by its own.
 *
 * All loans are checked before the first is published: if one of them holds nothing, or is no message of a
 * topic, nothing is published. A later failure, such as a reliable subscriber without room, ends the batch at
 * that message. The first `*published` loans are then empty, and the others still valid, in both cases.
 *
 * `published` and `sequence` may be NULL. `published` is always written. `sequence` receives the number of
 * the last published message in the topic's order, also on failure; it is not written if there is none.
 * Errors: those of situ_loan_publish. */
situ_status situ_loan_publish_all(situ_loan* loans, size_t count, size_t* published, uint64_t* sequence,
                                  situ_error* error);

/* Takes at most `most` messages that are there, in order, and moves the subscriber's cursor once. `samples`
 * has room for `most` samples. Release each of those that were taken. Returns SITU_EMPTY if there was none.
 * `taken` may be NULL. It is always written: after a failure, the messages before it were taken and are in
 * `samples`, and the next call continues behind it. Errors: those of situ_subscriber_take. */
situ_status situ_subscriber_take_many(situ_subscriber* subscriber, size_t most, situ_sample* samples,
                                      size_t* taken, situ_error* error);

/* The same, but calls `give` with each message, and releases the message when `give` returns. If `give`
 * returns 0, this message is taken and is the last one; that is no error. `give` must not use the subscriber.
 * `taken` counts all messages that were given. */
situ_status situ_subscriber_take_each(situ_subscriber* subscriber, size_t most,
                                      uint32_t (*give)(situ_sample* sample, void* context), void* context,
                                      size_t* taken, situ_error* error);

#ifdef __cplusplus
}
#endif

#endif
