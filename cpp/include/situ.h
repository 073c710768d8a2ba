/* situ.h: the C interface of Situ, which builds messages in the memory in which subscribers read them.
 *
 *   situ_node *node;
 *   situ_publisher *publisher;
 *   situ_node_create("camera", NULL, &node, NULL);
 *   situ_publisher_create(node, "points", &points_type, NULL, &publisher, NULL);
 *   situ_loan loan;
 *   if (situ_publisher_loan(publisher, sizeof(struct points), 8, bytes, &loan, NULL) == SITU_OK) {
 *     ...write to loan.head and loan.body...
 *     situ_loan_publish(&loan, NULL, NULL);
 *   }
 *
 * situ/batch.h adds batches, situ/blackboard.h the latest value of each key, situ/events.h events of
 * publishers and subscribers, situ/execute.h wait sets, timers and executors, situ/graph.h the nodes and
 * endpoints that exist, situ/memory.h memory before the first message, situ/record.h recordings,
 * situ/service.h requests and replies.
 * Traces have a header of their own, situ/trace.h, which this one includes.
 *
 * Rules that hold for every function:
 *
 * - A function that can fail returns a `situ_status`: `SITU_OK`, `SITU_EMPTY` if a result may be absent, or
 *   a negative error. On an error the last parameter, unless it is NULL, receives the status and a sentence
 *   that describes the failure, with the values, and what to do. Otherwise it is not written. On failure no
 *   other output is written, unless the function says so.
 * - Input texts are UTF-8, end with a zero, and are copied. Output texts belong to the handle that was
 *   passed.
 * - All threads may use a node at once. A publisher with its loans, and a subscriber, may move between
 *   threads, but only one thread may use it at a time. A sample belongs to no thread.
 * - `situ_publisher_loan`, `situ_loan_publish`, `situ_loan_discard`, `situ_subscriber_take` and
 *   `situ_sample_release` do not allocate. Once warm, they make a system call only to wake a sleeping thread.
 * - Handles may be destroyed in any order. Destroying NULL does nothing.
 * - A handle belongs to the process that created it. In a forked child, samples and loans show zeroes
 *   (samples of small messages keep their content), operations fail with SITU_ERROR_FORKED, and destroying,
 *   releasing and discarding change nothing in the parent. A child creates a node of its own.
 * - The library throws no exceptions and does not unwind. Callbacks must not throw either.
 * - Until version 1.0 the interface may change with the minor version, which is part of the library's soname.
 */
#ifndef SITU_H
#define SITU_H

#include <stddef.h>
#include <stdint.h>

#include "situ/trace.h"

/* Messages are read where they were written, so all programs of a machine have the same layout of numbers. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Situ needs a little-endian target: messages in shared memory are little-endian and are not converted"
#endif
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ != 8
#error "Situ needs a target with 64-bit addresses: pools are larger than 32-bit addresses can map"
#endif

#define SITU_VERSION_MAJOR 0
#define SITU_VERSION_MINOR 1
#define SITU_VERSION_PATCH 0
#define SITU_VERSION_STRING "0.1.0"
/* As one number, for comparisons. */
#define SITU_VERSION (SITU_VERSION_MAJOR * 1000000 + SITU_VERSION_MINOR * 1000 + SITU_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded library: in the form of SITU_VERSION, and as text. */
uint32_t situ_version(void);
const char* situ_version_string(void);

/* ---- Errors -------------------------------------------------------------------------------------------- */

typedef enum situ_status {
  SITU_OK = 0,
  /* No message was available, or the timeout passed. Not an error. */
  SITU_EMPTY = 1,
  /* An argument is NULL, out of its range, or not a valid name. */
  SITU_ERROR_INVALID_ARGUMENT = -1,
  /* The kernel refused: permissions, limits, a full file system. */
  SITU_ERROR_SYSTEM = -2,
  /* A directory or file of shared memory cannot be trusted: other users could tamper with it. */
  SITU_ERROR_UNSAFE = -3,
  /* A file or a message in shared memory is not valid: its writer is broken or hostile. */
  SITU_ERROR_MALFORMED = -4,
  /* The topic carries another type, or the same type in another layout. */
  SITU_ERROR_TYPE = -5,
  /* The topic has no room for another publisher or subscriber, or too few rows for the depth. */
  SITU_ERROR_NO_PLACE = -7,
  /* Another process holds the topic's lock and does not release it, or another thread waits for the wait set
   * or spins the executor. */
  SITU_ERROR_BUSY = -8,
  /* All of the publisher's memory is in use, or the message can never fit. */
  SITU_ERROR_NO_MEMORY = -9,
  /* A reliable subscriber has not taken enough yet. */
  SITU_ERROR_FULL = -10,
  /* A defect of the library. */
  SITU_ERROR_INTERNAL = -11,
  /* The message never becomes complete: the process or the device that writes it failed. */
  SITU_ERROR_POISONED = -12,
  /* The handle belongs to the parent process of a fork. */
  SITU_ERROR_FORKED = -13,
  /* An interrupter or a signal ended a wait. No message was lost. */
  SITU_ERROR_INTERRUPTED = -14,
  /* The publisher would wait for a reliable subscriber that only the publishing thread uses. */
  SITU_ERROR_DEADLOCK = -15,
  /* The subscriber holds the maximum number of samples: release some first. The message stays available. */
  SITU_ERROR_HELD = -16,
  /* The root, the topic or the node's file was removed while in use, or the topic's file was made shorter:
   * leave the topic, and join again with a new node. */
  SITU_ERROR_REMOVED = -17,
  /* Of services, see situ/service.h. */
  SITU_ERROR_NO_SERVER = -18,     /* the service has no server */
  SITU_ERROR_SERVER_GONE = -19,   /* every server that could answer the call has ended */
  SITU_ERROR_CLIENT_GONE = -20,   /* the client has ended: nothing waits for the reply */
  SITU_ERROR_DEADLINE = -21,      /* the time of the call is over */
  SITU_ERROR_REFUSED = -22,       /* the server refused the request */
  SITU_ERROR_UNKNOWN_CALL = -23,  /* no such call is under way */
  SITU_ERROR_TOO_MANY_CALLS = -24 /* as many calls are under way as the client may have */
} situ_status;

#define SITU_ERROR_TEXT_SIZE 1020

/* The error of a function. Filled only on failure. */
typedef struct situ_error {
  /* The returned situ_status. */
  int32_t status;
  /* A sentence. If it is too long, it is cut between two characters. */
  char text[SITU_ERROR_TEXT_SIZE];
} situ_error;

/* The name of a status, for example "SITU_ERROR_TYPE"; "unknown status" for other numbers. */
const char* situ_status_name(int32_t status);

/* Keeps this process alive when files of shared memory are made shorter while it has them mapped. Without
 * this guard, SIGBUS ends the process. The lost part of a file reads as zeroes, and the next take or
 * publication fails: with MALFORMED for a publisher's memory, with REMOVED for the topic. Off by default,
 * because it installs a SIGBUS handler, and signal handlers belong to the program. Faults elsewhere go to the
 * previous handler. A handler that the program installs later should pass on faults that are not its own.
 * Calling it again does nothing. Errors: SYSTEM. */
situ_status situ_guard_install(situ_error* error);

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* A named participant of the bus. */
typedef struct situ_node situ_node;

/* The directory in which the bus keeps its files, and the users that may use it. */
typedef struct situ_root {
  /* A directory in a memory file system. NULL: $SITU_ROOT or, if that is not set, /dev/shm/situ-<uid>. */
  const char* path;
  /* The number of the group that may use the directory, or SITU_NO_GROUP for the owner alone. Requires a
   * path. */
  uint32_t group;
  /* The graph domain: a number below UINT32_MAX. Programs of different graph domains do not meet.
   * SITU_DEFAULT_DOMAIN: with a path 0, otherwise $SITU_DOMAIN or, if that is not set, 0. */
  uint32_t graph_domain;
} situ_root;

#define SITU_NO_GROUP UINT32_MAX
#define SITU_DEFAULT_DOMAIN UINT32_MAX

/* Creates a node. With a NULL `root`, the environment decides. Files and registrations of dead nodes are
 * removed. A process may have many nodes, also of the same name. Destroy the node with situ_node_destroy;
 * publishers and subscribers created from it stay valid. Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE. */
situ_status situ_node_create(const char* name, const situ_root* root, situ_node** node, situ_error* error);
void situ_node_destroy(situ_node* node);

/* The options of a node. Zeroes are the defaults. */
typedef struct situ_node_options {
  /* NULL: the environment decides. */
  const situ_root* root;
  /* The namespace: names that each begin with a "/", for example "/robot/arm". NULL: "/". */
  const char* node_namespace;
  /* Up to SITU_MAX_USER_DATA bytes that all participants can read (situ/graph.h). */
  const void* user_data;
  size_t user_data_size;
} situ_node_options;

/* The largest user data of a node, a publisher or a subscriber, in bytes. */
#define SITU_MAX_USER_DATA 256

/* As situ_node_create, with options. */
situ_status situ_node_create_with(const char* name, const situ_node_options* options, situ_node** node,
                                  situ_error* error);

/* The node's name and its namespace, valid as long as the handle. The node's number, which identifies the
 * publisher in messages. */
const char* situ_node_name(const situ_node* node);
const char* situ_node_namespace(const situ_node* node);
uint64_t situ_node_id(const situ_node* node);

/* ---- Types and quality of service ---------------------------------------------------------------------- */

/* The layout of a message's bytes. */
typedef enum situ_encoding {
  /* The head is the type itself. Its bulk fields lie in the body. */
  SITU_FLAT = 1,
  /* The head is empty. The body is the serialized message with its encapsulation header. */
  SITU_XCDR1 = 2,
  SITU_XCDR2 = 3,
  /* The head is empty. The body is the image of a region, live or canonical. */
  SITU_REGION = 4
} situ_encoding;

/* The type of a topic's messages. Generated code contains these values. */
typedef struct situ_type {
  /* The full name, for example "sensor_msgs::msg::PointCloud2". */
  const char* name;
  /* The schema as canonical text, with all types that it needs. */
  const char* schema;
  /* The hash of the schema. It must be the same for all publishers and subscribers of a topic. */
  uint64_t schema_hash;
  /* The hash of the flat layout, or 0 if there is none. It must be the same for all publishers and
   * subscribers of flat messages. With 0, a subscriber of a serialized encoding takes no flat messages, and
   * cannot join a topic whose publisher has them. */
  uint64_t layout_hash;
  /* A situ_encoding. */
  uint32_t encoding;
  /* The size in bytes of each flat message, if all have the same and none has a body; otherwise, or if it is
   * not known, 0. Messages of up to 112 bytes then travel beside their reference, which takes less time. */
  uint32_t fixed_size;
  /* The size in bytes of the user header that each message carries beside its content: a multiple of 8, at
   * most 64; 0: none. It must be the same for all publishers and subscribers of a topic. */
  uint32_t user_header_size;
} situ_type;

typedef enum situ_reliability { SITU_BEST_EFFORT = 0, SITU_RELIABLE = 1 } situ_reliability;
typedef enum situ_durability { SITU_VOLATILE = 0, SITU_TRANSIENT_LOCAL = 1 } situ_durability;
typedef enum situ_liveliness {
  /* A publisher is alive as long as its process is. */
  SITU_AUTOMATIC = 0,
  /* It also has to publish, or to call situ_publisher_assert_liveliness, within each lease. */
  SITU_MANUAL_BY_TOPIC = 1
} situ_liveliness;

/* No time limit. */
#define SITU_FOREVER UINT64_MAX

/* The offered quality of service. Start with situ_publisher_qos_default(). */
typedef struct situ_publisher_qos {
  /* SITU_RELIABLE: the publisher waits for reliable subscribers that keep all messages, instead of
   * overwriting. */
  uint32_t reliability;
  /* SITU_TRANSIENT_LOCAL: the publisher keeps its last messages for subscribers that join late. */
  uint32_t durability;
  /* The number of last messages that stay available. A reliable publisher is ahead of its reliable
   * subscribers by at most this number. */
  uint64_t depth;
  /* The longest time that publishing waits for a reliable subscriber (default: one second). 0: publishing
   * fails at once. SITU_FOREVER: no limit. */
  uint64_t block_ns;
  /* The publisher promises to publish at least this often. 0: no promise. */
  uint64_t deadline_ns;
  /* Messages older than this are no longer delivered. 0: no limit. */
  uint64_t lifespan_ns;
  /* Not 0: messages carry no time stamps, and publishing does not read the clock. */
  uint32_t without_stamps;
  /* When a slot becomes free and more than this number of bytes are free, the publisher at once returns free
   * memory to the system, down to half of this number. UINT64_MAX, the default: memory returns to the system
   * after some seconds without use, and on situ_publisher_trim. */
  uint64_t trim_above;
  /* Up to SITU_MAX_USER_DATA bytes that all participants can read (situ/graph.h). */
  const void* user_data;
  size_t user_data_size;
  /* A situ_liveliness. */
  uint32_t liveliness;
  /* Not 0: offers what present subscribers request. Reliability, durability, deadline, liveliness and lease
   * are chosen on creation. */
  uint32_t best_available;
  /* With SITU_MANUAL_BY_TOPIC, the longest time between two signs of life. 0: no lease. */
  uint64_t lease_ns;
} situ_publisher_qos;

/* Which publishers' messages a subscriber reads in place. All other messages are copied to private memory on
 * take, so that their publisher cannot change them after the check. */
typedef enum situ_trust {
  /* Messages in memory that only the user of this process and the superuser may write, and no group. */
  SITU_SAME_USER = 0,
  /* All messages, even if other users may write to their memory. */
  SITU_EVERYONE = 1,
  /* No messages: each is copied. */
  SITU_NOBODY = 2
} situ_trust;

/* The requested quality of service. Start with situ_subscriber_qos_default(). */
typedef struct situ_subscriber_qos {
  /* SITU_RELIABLE: every message must reach the subscriber. */
  uint32_t reliability;
  /* SITU_TRANSIENT_LOCAL: the subscriber also receives messages published before it joined. */
  uint32_t durability;
  /* The number of newest messages to keep. 0: all. */
  uint64_t keep_last;
  /* The subscriber expects a message at least this often. 0: no expectation. */
  uint64_t deadline_ns;
  /* A situ_trust. */
  uint32_t trust;
  /* The largest message in bytes, head and body together. Larger messages are an error. */
  uint64_t max_message;
  /* The largest part of a publisher's memory that is mapped, in bytes. Messages must lie within it. */
  uint64_t max_pool;
  /* The number of samples that the subscriber may hold at a time, at most 493. 0: the default, 256. */
  uint64_t max_held;
  /* Up to SITU_MAX_USER_DATA bytes that all participants can read (situ/graph.h). */
  const void* user_data;
  size_t user_data_size;
  /* A situ_liveliness: how publishers have to show that they are alive. */
  uint32_t liveliness;
  /* Not 0: requests what present publishers offer. Reliability, durability, deadline, liveliness and lease
   * are chosen on creation. */
  uint32_t best_available;
  /* The longest time between two signs of life of a publisher that it accepts. 0: any. */
  uint64_t lease_ns;
} situ_subscriber_qos;

/* Best effort, volatile, a depth of 8, at most one second of waiting, no limits. */
situ_publisher_qos situ_publisher_qos_default(void);
/* Best effort, volatile, all messages, no expectation; SITU_SAME_USER, 4 GiB per message, 256 GiB a pool. */
situ_subscriber_qos situ_subscriber_qos_default(void);

/* The profiles of ROS 2. Their depth is that of a publisher, and how many messages a subscriber keeps. */
typedef enum situ_qos_profile {
  /* The last 10, reliable. */
  SITU_PROFILE_DEFAULT = 0,
  /* The last 5, best effort. */
  SITU_PROFILE_SENSOR_DATA = 1,
  /* The last 10, reliable. */
  SITU_PROFILE_SERVICES = 2,
  /* The last 1000, reliable. */
  SITU_PROFILE_PARAMETERS = 3,
  SITU_PROFILE_PARAMETER_EVENTS = 4,
  /* As situ_publisher_qos_default and situ_subscriber_qos_default. */
  SITU_PROFILE_SYSTEM_DEFAULT = 5,
  /* The last 10, and otherwise the most that matches the endpoints that are present on creation. */
  SITU_PROFILE_BEST_AVAILABLE = 6
} situ_qos_profile;

/* The quality of service of a situ_qos_profile; of another number that of SITU_PROFILE_SYSTEM_DEFAULT. */
situ_publisher_qos situ_publisher_qos_profile(uint32_t profile);
situ_subscriber_qos situ_subscriber_qos_profile(uint32_t profile);

/* How the memory of a publisher's messages is allocated. */
typedef enum situ_strategy {
  /* By classes of size: freed memory is reused for messages of about that size, and more is allocated as
   * needed. */
  SITU_SIZE_CLASSES = 0,
  /* In the order of publication, in a ring of `capacity` (default: 256 MiB). There is no search, but one
   * message that is held for a long time exhausts the ring. */
  SITU_RING = 1,
  /* In slots of one size, all of which have memory from the start. situ/memory.h says how many. */
  SITU_FIXED_SLOTS = 2
} situ_strategy;

/* A memory domain and how it is used. A domain is named "host", "emulated:0", "vulkan:0" or "cuda:0". It is
 * opened on first use. */
typedef struct situ_placement {
  /* The domain in which a publisher places bodies, or in which a subscriber takes. NULL: the host's shared
   * memory. */
  const char* domain;
  /* The maximum memory in bytes for a publisher's bodies, or for the copies that a subscriber makes. 0: no
   * limit on the host, and 256 MiB in domains that allocate their memory at once. */
  uint64_t capacity;
  /* Not 0: the publisher copies each message into every domain with a subscriber right after publishing.
   * Otherwise the first subscriber in the domain that takes the message copies it. Copies into a device run
   * in the background; destroying the publisher waits for them for at most one second. */
  uint32_t eager_copies;
  /* A situ_strategy, for publishers. */
  uint32_t strategy;
  /* Not 0: messages in a domain other than the host's may be serialized. Otherwise that is an error, because
   * the payload on a device is then no value that kernels can use. A participant that sets it reads or writes
   * the bytes of the encoding there by itself. */
  uint32_t serialized;
} situ_placement;

/* ---- Publishing ---------------------------------------------------------------------------------------- */

typedef struct situ_publisher situ_publisher;

/* A message under construction, in the memory in which subscribers read it. The caller stores the struct. To
 * move a loan, copy the struct and do not use the old one: exactly one copy may be published or discarded. */
typedef struct situ_loan {
  /* Aligned to 64 bytes. The bytes are arbitrary old values. NULL if nothing is lent. */
  void* head;
  size_t head_size;
  /* Like the head; that of CDR begins 4 bytes behind a multiple of 64, so that its numbers of 8 bytes are
   * aligned. NULL if it lies on a device: see situ_loan_span. */
  void* body;
  /* May be reduced before publishing, to the bytes that are needed. */
  size_t body_size;
  /* A situ_encoding: that of the type, unless the caller sets another. */
  uint32_t encoding;
  /* Internal. */
  uint32_t state_;
  void* lender_;
  uint64_t detached_[11];
} situ_loan;

/* Joins a topic as publisher. `qos` may be NULL for the default. Destroy the publisher with
 * situ_publisher_destroy. Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE, MALFORMED, TYPE, NO_PLACE, BUSY, FORKED,
 * REMOVED. */
situ_status situ_publisher_create(const situ_node* node, const char* topic, const situ_type* type,
                                  const situ_publisher_qos* qos, situ_publisher** publisher,
                                  situ_error* error);

/* The same with bodies in a memory domain. `placement` may be NULL for the host. */
situ_status situ_publisher_create_in(const situ_node* node, const char* topic, const situ_type* type,
                                     const situ_publisher_qos* qos, const situ_placement* placement,
                                     situ_publisher** publisher, situ_error* error);

/* Leaves the topic. Published messages stay available to subscribers. While the publisher has loans, it stays
 * until the last of them is published or discarded. */
void situ_publisher_destroy(situ_publisher* publisher);

/* Lends memory for a head and a body. `head_align` is a power of two up to 64. The loan must be published or
 * discarded. Errors: INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_publisher_loan(situ_publisher* publisher, size_t head_size, size_t head_align,
                                size_t body_size, situ_loan* loan, situ_error* error);

/* The default maximum size of a growing loan. */
#define SITU_GROWING_ROOM ((size_t)256 << 20)

/* Lends memory for a body without a head. The body grows in place (situ_loan_grow) up to `room` bytes; 0
 * means SITU_GROWING_ROOM. Room takes address space, not memory; memory that is unused when the loan is
 * published returns to the system. Only loans on a topic of regions in host memory can grow; all others are
 * ordinary loans. Errors: INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_publisher_loan_growing(situ_publisher* publisher, size_t body_size, size_t room,
                                        situ_loan* loan, situ_error* error);

/* Makes the body of such a loan larger in place: pointers into it stay valid. The added bytes are arbitrary
 * old values. Does nothing if the body is large enough already. After an error the loan is unchanged. Errors:
 * INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_loan_grow(situ_loan* loan, size_t body_size, situ_error* error);

/* Publishes. `sequence` may be NULL; it receives the message's number in the topic's order, from 0.
 * Afterwards nothing is lent. After an error the loan is still valid, and may be published again or
 * discarded. Errors: INVALID_ARGUMENT, MALFORMED, FULL. */
situ_status situ_loan_publish(situ_loan* loan, uint64_t* sequence, situ_error* error);

/* The user header of a loan, for writing: zeroes at first. `size` may be NULL; it receives the size. NULL and
 * 0 if the type has none, or nothing is lent. */
void* situ_loan_user_header(situ_loan* loan, size_t* size);

/* Returns the memory without publishing. Does nothing if nothing is lent. */
void situ_loan_discard(situ_loan* loan);

/* Statistics of a publisher. */
typedef struct situ_publisher_statistics {
  /* The present number of subscribers of the topic. */
  uint64_t subscribers;
  /* The number of deadlines that passed without a message. */
  uint64_t deadlines_missed;
  /* Slots of the pool that have memory, slots in use, and bytes of memory of all slots. */
  uint64_t slots;
  uint64_t slots_in_use;
  uint64_t memory_bytes;
} situ_publisher_statistics;

/* The publisher's id, which never repeats: the one under which the graph lists it (situ/graph.h). The first 8
 * bytes are the number of its node, little-endian. */
void situ_publisher_id(const situ_publisher* publisher, uint8_t id[16]);

situ_publisher_statistics situ_publisher_get_statistics(const situ_publisher* publisher);

/* Gives the memory of free slots back to the system, and returns the number of bytes. A slot is free if no
 * subscriber holds it and none can still take it. Publishing also frees memory that was not used for some
 * seconds; call this before a long time without publishing. The next messages allocate new memory.
 * Device memory and memory registered with a device stay. A ring goes back only if none of it is in use. */
uint64_t situ_publisher_trim(situ_publisher* publisher);

/* ---- Taking -------------------------------------------------------------------------------------------- */

typedef struct situ_subscriber situ_subscriber;

/* A message that was taken, read in the memory into which its publisher wrote it. Its bytes stay unchanged
 * until it is released, even if its publisher publishes more, ends or crashes. The caller stores the struct.
 * To move a sample, copy the struct and do not use the old one: exactly one copy may be released. A sample
 * may outlive its subscriber, and all threads may read it at once. */
typedef struct situ_sample {
  /* Aligned to 64 bytes. Do not write: the memory is mapped read-only. NULL after release. */
  const void* head;
  size_t head_size;
  /* Like the head; that of CDR at a multiple of 4, usually 4 bytes behind a multiple of 64. NULL if it lies
   * on a device: see situ_sample_span. */
  const void* body;
  size_t body_size;
  /* The message's number in the topic's order, from 0. */
  uint64_t sequence;
  /* The time of publication, by CLOCK_MONOTONIC, or 0 if the publisher omits time stamps. */
  uint64_t published_at_ns;
  /* The number of the node that published it. */
  uint64_t publisher;
  /* A situ_encoding. */
  uint32_t encoding;
  /* Internal. */
  uint32_t state_;
  uint64_t held_[12];
} situ_sample;

/* Joins a topic as subscriber. `qos` may be NULL for the default. Destroy the subscriber with
 * situ_subscriber_destroy. Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE, MALFORMED, TYPE, NO_PLACE, BUSY,
 * FORKED, REMOVED. */
situ_status situ_subscriber_create(const situ_node* node, const char* topic, const situ_type* type,
                                   const situ_subscriber_qos* qos, situ_subscriber** subscriber,
                                   situ_error* error);
/* The same in a memory domain. Messages from other domains are copied there, once for all subscribers in that
 * domain. `placement` may be NULL for the host. */
situ_status situ_subscriber_create_in(const situ_node* node, const char* topic, const situ_type* type,
                                      const situ_subscriber_qos* qos, const situ_placement* placement,
                                      situ_subscriber** subscriber, situ_error* error);
void situ_subscriber_destroy(situ_subscriber* subscriber);

/* Takes the next message, if there is one: SITU_OK or SITU_EMPTY. Copies only if the publisher is not trusted
 * (see situ_trust), or if the message lies in another memory domain than the subscriber's; only such a copy
 * makes the call wait. On the host, a message that a device is still writing is not available yet. `sample`
 * need not be initialized, and must not hold a message. A message that cannot be taken is skipped: the next
 * call continues after it. The library checks that head and body lie in shared memory, but not their content.
 * Errors: INVALID_ARGUMENT, SYSTEM, MALFORMED, NO_MEMORY, POISONED, HELD, REMOVED, FORKED. */
situ_status situ_subscriber_take(situ_subscriber* subscriber, situ_sample* sample, situ_error* error);

/* Releases a message, from any thread: its memory may be used again. The numbers in the sample stay readable.
 * Does nothing if the sample is released already. */
void situ_sample_release(situ_sample* sample);
/* 1 if head and body are a copy in private memory, because the publisher is not trusted (see situ_trust). 0
 * if they are read in place. */
uint32_t situ_sample_is_copy(const situ_sample* sample);

/* The id of the publisher of a message (see situ_publisher_id), and the number that the publisher gave the
 * message: from 0, one more for each. Zeroes if the sample holds no message. */
void situ_sample_publisher_id(const situ_sample* sample, uint8_t id[16]);
uint64_t situ_sample_publisher_sequence(const situ_sample* sample);
/* The user header of a message, valid until it is released. `size` may be NULL; it receives the size. NULL
 * and 0 if the type has none. */
const void* situ_sample_user_header(const situ_sample* sample, size_t* size);

/* Waits until a message can be taken: SITU_OK, or SITU_EMPTY when the timeout passes first. 0 only checks.
 * Errors: INVALID_ARGUMENT. */
situ_status situ_subscriber_wait(situ_subscriber* subscriber, uint64_t timeout_ns, situ_error* error);

/* Waits until one of several subscribers has a message: SITU_OK, with the index of the first such subscriber,
 * or SITU_EMPTY when the timeout passes first. Errors: INVALID_ARGUMENT. */
situ_status situ_wait_any(situ_subscriber* const* subscribers, size_t count, uint64_t timeout_ns,
                          size_t* index, situ_error* error);

/* Ends waits from another thread or from a signal handler. */
typedef struct situ_interrupter situ_interrupter;

/* Creates an interrupter. Destroy it when no wait uses it any more. Errors: INVALID_ARGUMENT. */
situ_status situ_interrupter_create(situ_interrupter** interrupter, situ_error* error);
void situ_interrupter_destroy(situ_interrupter* interrupter);
/* Ends all current and future waits that use the interrupter, until it is reset. Any thread and any signal
 * handler may call it. */
void situ_interrupter_interrupt(const situ_interrupter* interrupter);
void situ_interrupter_reset(const situ_interrupter* interrupter);
/* Not 0 while the interrupter ends waits. */
int32_t situ_interrupter_is_interrupted(const situ_interrupter* interrupter);

/* How long to wait, and what else ends the wait. */
typedef struct situ_waiting {
  /* SITU_FOREVER: no limit. 0: only checks. */
  uint64_t timeout_ns;
  /* May be NULL. */
  const situ_interrupter* interrupter;
  /* Not 0: the wait ends when a signal was handled on this thread while it slept. A signal just before the
   * wait does not end it; where that matters, let the signal handler call situ_interrupter_interrupt. */
  uint32_t until_a_signal;
} situ_waiting;

/* Like situ_subscriber_wait and situ_wait_any, which continue after a signal, but an interrupter or a signal
 * may end the wait, even when a message is available: then INTERRUPTED. Other errors: INVALID_ARGUMENT. */
situ_status situ_subscriber_wait_with(situ_subscriber* subscriber, const situ_waiting* how,
                                      situ_error* error);
situ_status situ_wait_any_with(situ_subscriber* const* subscribers, size_t count, const situ_waiting* how,
                               size_t* index, situ_error* error);

/* Sets an interrupter that ends a publisher's waits for subscribers without room; NULL removes it. Publishing
 * then fails with INTERRUPTED, and the loan stays valid. */
void situ_publisher_set_interrupter(situ_publisher* publisher, const situ_interrupter* interrupter);

/* A descriptor for poll, epoll and the like. It is readable when a message can be taken, or when the next
 * take releases the memory of a publisher that left. The subscriber owns it; the first call creates it. On
 * waking, call situ_subscriber_clear_fd, then take until SITU_EMPTY. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_subscriber_fd(situ_subscriber* subscriber, int* fd, situ_error* error);

/* Makes the descriptor unreadable until the next message. Does nothing if there is no descriptor. */
void situ_subscriber_clear_fd(situ_subscriber* subscriber);

/* Statistics of a subscriber. */
typedef struct situ_subscriber_statistics {
  /* Messages taken. */
  uint64_t taken;
  /* Messages overwritten before the subscriber took them. */
  uint64_t lost;
  /* Messages skipped because the subscriber keeps only the last ones. */
  uint64_t skipped;
  /* Messages that were too old when the subscriber took the next one. */
  uint64_t expired;
  /* The number of deadlines that passed without a message. */
  uint64_t deadlines_missed;
  /* The present number of publishers of the topic. */
  uint64_t publishers;
  /* The number of the next message to take, and of the next to be published on the topic. */
  uint64_t next;
  uint64_t published;
} situ_subscriber_statistics;

/* The subscriber's id, which never repeats: the one under which the graph lists it (situ/graph.h). The first
 * 8 bytes are the number of its node, little-endian. */
void situ_subscriber_id(const situ_subscriber* subscriber, uint8_t id[16]);

situ_subscriber_statistics situ_subscriber_get_statistics(const situ_subscriber* subscriber);

/* ---- Memory domains ------------------------------------------------------------------------------------ */

/* A range of a domain's memory. */
typedef struct situ_span {
  /* The start, as work on the domain's streams sees it. On the host and with CUDA this is an address. */
  uint64_t address;
  /* In bytes. */
  uint64_t size;
  /* The start within its memory, and the size of that memory, in bytes: for domains without addresses. */
  uint64_t offset;
  uint64_t memory_size;
  /* 0 host, 1 emulated, 2 Vulkan, 3 CUDA; and the number of the device of that kind. */
  uint32_t domain_kind;
  uint32_t domain_number;
} situ_span;

/* When a payload is complete: once the word in host shared memory is `value` or more. The word INT64_MAX
 * (2^63 - 1) means that the payload never becomes complete. A NULL word: it is complete already. */
typedef struct situ_fence {
  uint64_t* word;
  uint64_t value;
} situ_fence;

typedef enum situ_fence_state { SITU_COMPLETE = 0, SITU_PENDING = 1, SITU_POISONED = 2 } situ_fence_state;

/* A queue of work on a domain, done in order. All threads may use it at once. */
typedef struct situ_stream situ_stream;

/* Creates a stream. `domain` may be NULL for the host. Destroy it with situ_stream_destroy; enqueued work is
 * still done. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_stream_create(const situ_node* node, const char* domain, situ_stream** stream,
                               situ_error* error);
void situ_stream_destroy(situ_stream* stream);

/* Waits until all enqueued work is done: SITU_OK, or SITU_EMPTY when the timeout passes first. Errors:
 * INVALID_ARGUMENT, SYSTEM if enqueued work failed. */
situ_status situ_stream_synchronize(const situ_stream* stream, uint64_t timeout_ns, situ_error* error);

/* The payload of a message: its body if it has one, otherwise its head. The span is valid until the loan is
 * published or discarded. Streams may continue to write to it afterwards, until they have passed that work.
 * Errors: INVALID_ARGUMENT. */
situ_status situ_loan_span(situ_loan* loan, situ_span* span, situ_error* error);

/* Places a message without a body in the domain of its publisher's bodies, as a whole: the payload has the
 * size of the head. The head itself stays in host memory, and only subscribers that take on a device see it.
 * Errors: INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_loan_span_of_message(situ_loan* loan, situ_span* span, situ_error* error);

/* Enqueues a copy of host bytes into the payload of a loan, at an offset. `from` must not change until the
 * stream has passed the copy. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_stream_write(const situ_stream* stream, const void* from, situ_loan* loan, uint64_t offset,
                              uint64_t size, situ_error* error);

/* Publishes now. The body is complete once the stream has passed all work enqueued so far; subscribers wait
 * for that. The call waits only if the body lies in host memory. Errors: as for situ_loan_publish, SYSTEM. */
situ_status situ_loan_publish_on(situ_loan* loan, const situ_stream* stream, uint64_t* sequence,
                                 situ_error* error);

/* For streams of other libraries: the fence of a loan, whose word your stream sets to `value` after the work
 * that fills the body (cuStreamWriteValue64). Enqueue that, then publish. Errors: those of
 * situ_loan_span and of situ_loan_publish. */
situ_status situ_loan_fence(situ_loan* loan, situ_fence* fence, situ_error* error);
situ_status situ_loan_publish_signalled(situ_loan* loan, uint64_t* sequence, situ_error* error);

/* The payload of a sample, in the subscriber's domain. The span is valid until the sample is released.
 * Release it only after your streams have passed the work that uses it. Errors: INVALID_ARGUMENT. */
situ_status situ_sample_span(const situ_sample* sample, situ_span* span, situ_error* error);

/* Releases a sample once the stream has passed all work enqueued so far. The sample is empty afterwards.
 * After INVALID_ARGUMENT it is unchanged. After SYSTEM the message stays until this process ends, because the
 * device may still read it. On CUDA the release happens when work is next enqueued on the stream, or when a
 * thread synchronizes with it. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_sample_release_on(situ_sample* sample, const situ_stream* stream, situ_error* error);

/* Enqueues a copy of the payload of a sample to host memory. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_stream_read(const situ_stream* stream, const situ_sample* sample, uint64_t offset, void* to,
                             uint64_t size, situ_error* error);

/* Takes the next message, if there is one, in stream order: work that is enqueued on the stream from now on
 * runs after the message is complete. If the message must be copied to the subscriber's domain, the copy is
 * enqueued on the stream, and other subscribers share it. The call waits for no device. On the host, where
 * the CPU reads the message, this is situ_subscriber_take. Errors: those of situ_subscriber_take. */
situ_status situ_subscriber_take_on(situ_subscriber* subscriber, const situ_stream* stream,
                                    situ_sample* sample, situ_error* error);

/* Makes work that is enqueued on the stream from now on wait until the payload is complete. If the device
 * cannot wait, the call waits itself, and returns SITU_EMPTY when the timeout passes first. Errors:
 * INVALID_ARGUMENT, SYSTEM, POISONED. */
situ_status situ_sample_wait_on(const situ_sample* sample, const situ_stream* stream, uint64_t timeout_ns,
                                situ_error* error);

/* Waits until the payload is complete: SITU_OK, or SITU_EMPTY when the timeout passes first. Errors:
 * INVALID_ARGUMENT, POISONED. */
situ_status situ_sample_synchronize(const situ_sample* sample, uint64_t timeout_ns, situ_error* error);

/* The present state of the payload; and its fence, for streams of other libraries (cuStreamWaitValue64).
 * Errors: INVALID_ARGUMENT. */
situ_fence_state situ_sample_state(const situ_sample* sample);
situ_status situ_sample_fence(const situ_sample* sample, situ_fence* fence, situ_error* error);

/* ---- Inspection ---------------------------------------------------------------------------------------- */

/* The clock of time stamps: CLOCK_MONOTONIC in nanoseconds. */
uint64_t situ_now_ns(void);

/* situ_count_copy counts a copy or a serialization of `bytes` bytes that the program made. situ_copies
 * returns the counts so far, including the copies that the library made for the program. For programs that
 * verify that there are no copies. */
void situ_count_copy(size_t bytes);
void situ_copies(uint64_t* copies, uint64_t* bytes);

/* A topic, as passed by situ_list_topics. The texts are valid during the call. */
typedef struct situ_topic_info {
  const char* name;
  const char* type_name;
  const char* schema;
  uint64_t schema_hash;
  uint64_t published;
  uint64_t publishers;
  uint64_t subscribers;
} situ_topic_info;

/* A node, as passed by situ_list_nodes. The texts are valid during the call. */
typedef struct situ_node_info {
  uint64_t id;
  const char* name;
  const char* program;
  uint32_t pid;
  /* 0: the process died, and its node has not been removed yet. */
  uint32_t alive;
} situ_node_info;

/* Calls `visit` for each topic (node) under `root`, sorted by name. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_list_topics(const situ_root* root,
                             void (*visit)(const situ_topic_info* topic, void* context), void* context,
                             situ_error* error);
situ_status situ_list_nodes(const situ_root* root, void (*visit)(const situ_node_info* node, void* context),
                            void* context, situ_error* error);

/* A publisher that waits for a reliable subscriber. The text is valid during the call. */
typedef struct situ_wait_info {
  const char* topic;
  /* The node numbers of both, as in situ_node_info. */
  uint64_t publisher;
  uint64_t subscriber;
  /* The time waited so far. */
  uint64_t waited_ns;
} situ_wait_info;

/* Calls `visit` for each publisher under `root` that has no room now. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_list_waits(const situ_root* root, void (*visit)(const situ_wait_info* wait, void* context),
                            void* context, situ_error* error);

/* Removes files and registrations of dead nodes under `root`. `nodes` and `topics` receive the numbers of
 * removed node files and of removed topics, and may be NULL. Errors: INVALID_ARGUMENT. */
situ_status situ_clean(const situ_root* root, size_t* nodes, size_t* topics, situ_error* error);

#ifdef __cplusplus
}
#endif

#endif
