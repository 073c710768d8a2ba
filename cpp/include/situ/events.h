/* Events of publishers and subscribers: who matches, missed deadlines, liveliness, lost messages. The rules
 * of situ.h hold here; situ/execute.h waits for events, and calls back.
 *
 *   situ_event *matched;
 *   situ_subscriber_event(scans, SITU_EVENT_MATCHED, &matched, NULL);
 *   printf("%llu publishers\n", (unsigned long long)situ_event_take(matched).matched.current_count);
 *   situ_event_destroy(matched);
 *
 * All threads may use an event at once, also while another thread uses its publisher or subscriber.
 */
#ifndef SITU_EVENTS_H
#define SITU_EVENTS_H

#include <stdint.h>

#include "situ.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of events. */
typedef enum situ_event_kind {
  /* A subscriber (of a publisher) or publisher (of a subscriber) that matches has come or gone. */
  SITU_EVENT_MATCHED = 0,
  /* One has come that does not match, because of its quality of service. */
  SITU_EVENT_INCOMPATIBLE_QOS = 1,
  /* No message was published, or taken, within the deadline. */
  SITU_EVENT_DEADLINE_MISSED = 2,
  /* Of publishers: it has not shown within its lease that it is alive. */
  SITU_EVENT_LIVELINESS_LOST = 3,
  /* Of subscribers: a publisher that matches has come or gone, has not shown in time that it is alive, or has
   * shown it again. */
  SITU_EVENT_LIVELINESS_CHANGED = 4,
  /* Of subscribers: it has found that messages are lost. */
  SITU_EVENT_MESSAGES_LOST = 5
} situ_event_kind;

/* The policies that decide whether two match. Their numbers are bits. */
typedef enum situ_qos_policy {
  SITU_POLICY_RELIABILITY = 1,
  SITU_POLICY_DURABILITY = 2,
  SITU_POLICY_DEADLINE = 4,
  SITU_POLICY_LIVELINESS = 8
} situ_qos_policy;

/* In all statuses, changes are those since the status was taken last. */
typedef struct situ_matched_status {
  /* How many have ever matched, and match now. */
  uint64_t total_count;
  uint64_t total_count_change;
  uint64_t current_count;
  int64_t current_count_change;
} situ_matched_status;

/* Endpoints of the other side whose quality of service does not match. */
typedef struct situ_incompatible_qos_status {
  /* How many did not match so far. */
  uint64_t total_count;
  uint64_t total_count_change;
  /* The first situ_qos_policy in which the last one differs; 0: there was none. */
  uint32_t last_policy;
  /* All policies in which any of them differs. */
  uint32_t policies;
} situ_incompatible_qos_status;

/* How often no message came, or was published, within the deadline. */
typedef struct situ_deadline_missed_status {
  uint64_t total_count;
  uint64_t total_count_change;
} situ_deadline_missed_status;

/* How often the publisher itself did not assert its liveliness within the lease. */
typedef struct situ_liveliness_lost_status {
  uint64_t total_count;
  uint64_t total_count_change;
} situ_liveliness_lost_status;

/* A publisher that leaves, or whose process ends, is in neither number. */
typedef struct situ_liveliness_changed_status {
  uint64_t alive_count;
  uint64_t not_alive_count;
  int64_t alive_count_change;
  int64_t not_alive_count_change;
} situ_liveliness_changed_status;

/* How many messages the subscriber lost. */
typedef struct situ_messages_lost_status {
  uint64_t total_count;
  uint64_t total_count_change;
} situ_messages_lost_status;

/* The status of an event: the member of its kind. The bytes behind that are 0. */
typedef union situ_event_status {
  situ_matched_status matched;
  situ_incompatible_qos_status incompatible_qos;
  situ_deadline_missed_status deadline_missed;
  situ_liveliness_lost_status liveliness_lost;
  situ_liveliness_changed_status liveliness_changed;
  situ_messages_lost_status messages_lost;
} situ_event_status;

/* An event of a publisher or subscriber. Wait sets report it as long as its status has changed and was not
 * taken. */
typedef struct situ_event situ_event;

/* Returns an event, a situ_event_kind. Destroy it with situ_event_destroy, before or after the publisher or
 * subscriber; wait sets and executors keep what they need. Errors: INVALID_ARGUMENT, also for a kind of the
 * other side; FORKED. */
situ_status situ_publisher_event(const situ_publisher* publisher, uint32_t kind, situ_event** event,
                                 situ_error* error);
situ_status situ_subscriber_event(const situ_subscriber* subscriber, uint32_t kind, situ_event** event,
                                  situ_error* error);
void situ_event_destroy(situ_event* event);

/* Takes the status. The next changes are those from now on. All zeroes for NULL. */
situ_event_status situ_event_take(const situ_event* event);

/* Shows that the publisher is alive. Publishing shows it too. Without a lease, or with automatic liveliness,
 * it does nothing. */
void situ_publisher_assert_liveliness(const situ_publisher* publisher);

#ifdef __cplusplus
}
#endif

#endif
