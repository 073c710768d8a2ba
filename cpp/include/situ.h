/* situ.h: the C interface of Situ, messages that are built where they will be read.
 *
 *   situ_node *node;
 *   situ_node_create("camera", NULL, &node, NULL);
 *   situ_publisher *publisher;
 *   situ_publisher_create(node, "points", &points_type, NULL, &publisher, NULL);
 *   situ_loan loan;
 *   if (situ_publisher_loan(publisher, sizeof(struct points), 8, bytes, &loan, NULL) == SITU_OK) {
 *     ...write to loan.head and loan.body...
 *     situ_loan_publish(&loan, NULL, NULL);
 *   }
 *
 * Rules that hold for every function:
 *
 * - A function that can fail returns a `situ_status`: `SITU_OK`, `SITU_EMPTY` where there may be nothing, or
 *   a negative error. Then the last parameter, unless it is NULL, receives the status and a sentence that
 *   says what happened, with which values, and what to do. It is not written otherwise, and no other output
 *   is written on failure.
 * - Texts that go in are UTF-8, end with a zero, and are copied. Texts that come out belong to the handle
 *   that they were asked of.
 * - A node may be used by all threads at once. A publisher with its loans, and a subscriber, may move from
 *   thread to thread, but are used by one at a time. A sample belongs to no thread.
 * - `situ_publisher_loan`, `situ_loan_publish`, `situ_loan_discard`, `situ_subscriber_take` and
 *   `situ_sample_release` allocate nothing and, once warm, make no system call but to wake who sleeps.
 * - Handles may be destroyed in any order. NULL is destroyed without effect.
 * - A handle belongs to the process that made it. In a forked child, samples and loans show zeroes,
 * operations fail with SITU_ERROR_FORKED, and destroying, releasing and discarding change nothing in the
 * parent. A child makes a node of its own.
 * - Nothing is thrown and nothing unwinds out of the library. Callbacks must not throw either.
 * - Until version 1.0 the interface may change with the minor version, which is part of the library's soname.
 */
#ifndef SITU_H
#define SITU_H

#include <stddef.h>
#include <stdint.h>

#define SITU_VERSION_MAJOR 0
#define SITU_VERSION_MINOR 1
#define SITU_VERSION_PATCH 0
#define SITU_VERSION_STRING "0.1.0"
/* The version as one number, to be compared. */
#define SITU_VERSION (SITU_VERSION_MAJOR * 1000000 + SITU_VERSION_MINOR * 1000 + SITU_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is loaded, as SITU_VERSION; and as text. */
uint32_t situ_version(void);
const char* situ_version_string(void);

/* ---- Errors -------------------------------------------------------------------------------------------- */

typedef enum situ_status {
  SITU_OK = 0,
  /* There was nothing to take, or the time was over. Not an error. */
  SITU_EMPTY = 1,
  /* An argument is NULL, out of its range, or no name. */
  SITU_ERROR_INVALID_ARGUMENT = -1,
  /* The kernel refused: permissions, limits, a full file system. */
  SITU_ERROR_SYSTEM = -2,
  /* A directory or file of shared memory cannot be trusted: somebody else could tamper with it. */
  SITU_ERROR_UNSAFE = -3,
  /* A file or a message in shared memory makes no sense: its writer is broken or hostile. */
  SITU_ERROR_MALFORMED = -4,
  /* The topic carries another type, or the same type in another layout. */
  SITU_ERROR_TYPE = -5,
  /* A participant on the other side offers or asks for another quality of service. */
  SITU_ERROR_QOS = -6,
  /* The topic has no place for another participant, or too few rows for the depth. */
  SITU_ERROR_NO_PLACE = -7,
  /* Another process holds the topic's lock and does not let go. */
  SITU_ERROR_BUSY = -8,
  /* The publisher's memory is in use, or the message can never fit. */
  SITU_ERROR_NO_MEMORY = -9,
  /* A reliable subscriber has not taken enough yet. */
  SITU_ERROR_FULL = -10,
  /* A defect of the library. */
  SITU_ERROR_INTERNAL = -11,
  /* The message never becomes complete: the process or the device that should have written it failed. */
  SITU_ERROR_POISONED = -12,
  /* The handle belongs to the process that this one was forked from. */
  SITU_ERROR_FORKED = -13,
  /* A wait was ended by an interrupter or a signal. Nothing was lost. */
  SITU_ERROR_INTERRUPTED = -14,
  /* The reliable subscriber that the publisher would wait for is used by the very thread that publishes. */
  SITU_ERROR_DEADLOCK = -15,
  /* The subscriber holds as many samples as it may: destroy some first. The message waits. */
  SITU_ERROR_HELD = -16,
  /* The root, the topic or the node's file was removed while it was in use, or the topic's file was made
   * shorter: leave the topic, and join again with a new node. */
  SITU_ERROR_REMOVED = -17
} situ_status;

#define SITU_ERROR_TEXT_SIZE 1020

/* What went wrong. Filled on failure only. */
typedef struct situ_error {
  /* The situ_status that was returned. */
  int32_t status;
  /* A sentence; cut at a character's border if it is too long. */
  char text[SITU_ERROR_TEXT_SIZE];
} situ_error;

/* The name of a status, for instance "SITU_ERROR_QOS"; "unknown status" for other numbers. */
const char* situ_status_name(int32_t status);

/* Has this process survive that files of shared memory are made shorter while it has them mapped, which
 * otherwise ends it by SIGBUS. What a file has lost reads as zeroes, and the next take or publication fails:
 * with MALFORMED if it is a publisher's memory, with REMOVED if it is the topic. Off unless it is called: it
 * installs a handler of SIGBUS, which belongs to the program. A fault elsewhere goes to the handler that was
 * there before; a handler that the program installs later should pass on what is not its own. Calling it
 * again does nothing. Errors: SYSTEM. */
situ_status situ_guard_install(situ_error* error);

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* A named participant. */
typedef struct situ_node situ_node;

/* Where what is running lies, and who may look. */
typedef struct situ_root {
  /* A directory of a memory file system; NULL for $SITU_ROOT or, without it, /dev/shm/situ-<uid>. */
  const char* path;
  /* With a path: the number of the group that everything is open to, or SITU_NO_GROUP for the user alone. */
  uint32_t group;
} situ_root;

#define SITU_NO_GROUP UINT32_MAX

/* Makes a node. `root` may be NULL, which is the same as a NULL path. What nodes that died have left is
 * removed by the way. Destroy it with situ_node_destroy; publishers and subscribers that were made from it
 * live on. Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE. */
situ_status situ_node_create(const char* name, const situ_root* root, situ_node** node, situ_error* error);
void situ_node_destroy(situ_node* node);

/* Its name, as long as the handle lives; and its number, by which messages name their publisher. */
const char* situ_node_name(const situ_node* node);
uint64_t situ_node_id(const situ_node* node);

/* ---- Types and quality of service ---------------------------------------------------------------------- */

/* How the bytes of a message are laid out. */
typedef enum situ_encoding {
  /* The head is the type itself, its bulk fields lie in the body. */
  SITU_FLAT = 1,
  /* The head is empty; the body is the message, serialized with its encapsulation header. */
  SITU_XCDR1 = 2,
  SITU_XCDR2 = 3,
  /* The head is empty; the body is the image of a region, live or canonical. */
  SITU_REGION = 4
} situ_encoding;

/* What a topic carries. Generated code knows these values. */
typedef struct situ_type {
  /* The full name, for instance "sensor_msgs::msg::PointCloud2". */
  const char* name;
  /* The schema as canonical text, with all types it depends on. */
  const char* schema;
  /* The hash of the schema: participants of a topic must agree on it. */
  uint64_t schema_hash;
  /* The hash of the flat layout: participants that publish or read flat messages must agree on it. 0 if there
   * is none: a subscriber of a serialized encoding then takes no flat messages, and is refused where a
   * publisher has them. */
  uint64_t layout_hash;
  /* A situ_encoding. */
  uint32_t encoding;
} situ_type;

typedef enum situ_reliability { SITU_BEST_EFFORT = 0, SITU_RELIABLE = 1 } situ_reliability;
typedef enum situ_durability { SITU_VOLATILE = 0, SITU_TRANSIENT_LOCAL = 1 } situ_durability;

/* A time without end. */
#define SITU_FOREVER UINT64_MAX

/* What a publisher offers. Begin with situ_publisher_qos_default(). */
typedef struct situ_publisher_qos {
  /* SITU_RELIABLE: it waits for subscribers that are reliable and keep all, rather than overwrite. */
  uint32_t reliability;
  /* SITU_TRANSIENT_LOCAL: it keeps its last messages for subscribers that come late. */
  uint32_t durability;
  /* How many of its last messages stay available, and how far a reliable publisher runs ahead. */
  uint64_t depth;
  /* How long publishing may wait for a reliable subscriber (a second, by default): 0 fails at once,
   * SITU_FOREVER has no limit. */
  uint64_t block_ns;
  /* It promises to publish at least this often; 0: no promise. */
  uint64_t deadline_ns;
  /* Messages older than this are not delivered any more; 0: no limit. */
  uint64_t lifespan_ns;
  /* Not 0: leaves out the time stamp of each message, which saves reading the clock. */
  uint32_t without_stamps;
  /* If more than so many bytes of its memory are free when a slot comes back, all but half as many go back to
   * the system at once. UINT64_MAX, the default: what was not needed for some seconds goes back, and what
   * situ_publisher_trim is called for. */
  uint64_t trim_above;
} situ_publisher_qos;

/* Whose messages a subscriber reads where they lie. All others are copied to private memory when they are
 * taken: what is checked then cannot be changed any more by the process that published it. */
typedef enum situ_trust {
  /* Those in memory that only this process' user, and the superuser, may write (not if it is open to a
     group). */
  SITU_SAME_USER = 0,
  /* All, whoever may write to them. */
  SITU_EVERYONE = 1,
  /* None. */
  SITU_NOBODY = 2
} situ_trust;

/* What a subscriber asks for. Begin with situ_subscriber_qos_default(). */
typedef struct situ_subscriber_qos {
  /* SITU_RELIABLE: every message must reach it. */
  uint32_t reliability;
  /* SITU_TRANSIENT_LOCAL: it also wants what was published before it came. */
  uint32_t durability;
  /* How many of the newest messages it wants to find; 0: all. */
  uint64_t keep_last;
  /* It expects a message at least this often; 0: no expectation. */
  uint64_t deadline_ns;
  /* A situ_trust. */
  uint32_t trust;
  /* The most bytes that a message may have, head and body together; larger ones are an error. */
  uint64_t max_message;
  /* How far into a publisher's memory messages may lie, in bytes. More of it is never mapped. */
  uint64_t max_pool;
  /* How many samples it may hold at a time; 0: as many as there are by default, 256. */
  uint64_t max_held;
} situ_subscriber_qos;

/* Best effort, volatile, a depth of 8, a second to block, no limits. */
situ_publisher_qos situ_publisher_qos_default(void);
/* Best effort, volatile, keeps all, no expectation; SITU_SAME_USER, 4 GiB a message, 256 GiB a pool. */
situ_subscriber_qos situ_subscriber_qos_default(void);

/* How the memory of a publisher's messages is allocated. */
typedef enum situ_strategy {
  /* By sizes: what is freed is used again for messages of about that size, and more is taken as it is needed.
   */
  SITU_SIZE_CLASSES = 0,
  /* One after the other, in a ring of `capacity` (256 MiB unless told otherwise): nothing is searched, but
   * one message that is held for long exhausts it. */
  SITU_RING = 1
} situ_strategy;

/* Which memory. A domain is named "host", "emulated:0", "vulkan:0" or "cuda:0"; it is opened when it is first
 * needed. */
typedef struct situ_placement {
  /* Where a publisher puts bodies, or where a subscriber takes; NULL for the host's shared memory. */
  const char* domain;
  /* At most so many bytes for a publisher's bodies, or for the copies that a subscriber makes; 0: as much as
   * there is on the host, 256 MiB where memory is taken at once. */
  uint64_t capacity;
  /* Not 0: a publisher copies its messages into every domain with a subscriber, right after publishing,
   * instead of leaving that to the first who takes there. Copies into a device are made while the publisher
   * goes on; destroying it waits for them, for a second at most. */
  uint32_t eager_copies;
  /* A situ_strategy, of a publisher. */
  uint32_t strategy;
} situ_placement;

/* ---- Publishing ---------------------------------------------------------------------------------------- */

typedef struct situ_publisher situ_publisher;

/* A message under construction, in the memory where it will be read. Yours to store; once it is lent, move it
 * by copying it and forget the old one: exactly one copy may be published or discarded. */
typedef struct situ_loan {
  /* Aligned to 64 bytes; the bytes are whatever was there before. NULL if nothing is lent. */
  void* head;
  size_t head_size;
  /* As the head. NULL if it lies on a device: see situ_loan_span. */
  void* body;
  /* May be made smaller before publishing: only so much was needed. */
  size_t body_size;
  /* A situ_encoding: the type's, unless you set another. */
  uint32_t encoding;
  /* The library's own. */
  uint32_t state_;
  situ_publisher* publisher_;
  uint64_t detached_[6];
} situ_loan;

/* Joins a topic as publisher. `qos` may be NULL for the default. Destroy it with situ_publisher_destroy.
 * Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE, MALFORMED, TYPE, QOS, NO_PLACE, BUSY. */
situ_status situ_publisher_create(const situ_node* node, const char* topic, const situ_type* type,
                                  const situ_publisher_qos* qos, situ_publisher** publisher,
                                  situ_error* error);

/* The same with bodies in a memory domain; `placement` may be NULL for the host. */
situ_status situ_publisher_create_in(const situ_node* node, const char* topic, const situ_type* type,
                                     const situ_publisher_qos* qos, const situ_placement* placement,
                                     situ_publisher** publisher, situ_error* error);

/* Leaves the topic. What was published stays for those who may still take it. While loans are out, the
 * publisher stays until the last of them is published or discarded. */
void situ_publisher_destroy(situ_publisher* publisher);

/* Lends memory for a head and a body; `head_align` is a power of two up to 64. The loan must be published or
 * discarded. Errors: INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_publisher_loan(situ_publisher* publisher, size_t head_size, size_t head_align,
                                size_t body_size, situ_loan* loan, situ_error* error);

/* How large a loan can become unless more is asked for. */
#define SITU_GROWING_ROOM ((size_t)256 << 20)

/* Lends memory for a body, without a head, that grows in its place (situ_loan_grow) up to `room` bytes; 0
 * means SITU_GROWING_ROOM. Room costs addresses, not memory; what was not used when it is published goes back
 * to the system. Only on a topic of regions in host memory: elsewhere the loan is one like any other, and
 * does not grow. Errors: INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_publisher_loan_growing(situ_publisher* publisher, size_t body_size, size_t room,
                                        situ_loan* loan, situ_error* error);

/* Makes the body of such a loan larger, where it is: pointers into it stay good. The bytes that are added are
 * whatever was there before. Without effect if it has as many bytes already; after an error the loan is as it
 * was. Errors: INVALID_ARGUMENT, SYSTEM, NO_MEMORY. */
situ_status situ_loan_grow(situ_loan* loan, size_t body_size, situ_error* error);

/* Publishes. `sequence` may be NULL; it receives the message's number in the topic's order, from 0.
 * Afterwards nothing is lent; after an error the loan is still yours, to be tried again or discarded. Errors:
 * INVALID_ARGUMENT, MALFORMED, FULL. */
situ_status situ_loan_publish(situ_loan* loan, uint64_t* sequence, situ_error* error);

/* Returns the memory without publishing. Without effect if nothing is lent. */
void situ_loan_discard(situ_loan* loan);

/* What is known of a publisher. */
typedef struct situ_publisher_statistics {
  /* How many subscribers the topic has at the moment. */
  uint64_t subscribers;
  /* How many deadlines went by without a message. */
  uint64_t deadlines_missed;
  /* Slots of its pool that have memory, slots that are in use, and bytes of memory behind all of them. */
  uint64_t slots;
  uint64_t slots_in_use;
  uint64_t memory_bytes;
} situ_publisher_statistics;

situ_publisher_statistics situ_publisher_get_statistics(const situ_publisher* publisher);

/* Gives the memory of free slots back to the system, and says how many bytes that are. Free is what no
 * subscriber holds, and none can still take. Publishing does that by itself with memory that was not needed
 * for some seconds; call this when nothing is to be published for long. The next messages pay for new memory.
 * A device's memory stays, and what is registered with a device; a ring goes back if nothing of it is in use.
 */
uint64_t situ_publisher_trim(situ_publisher* publisher);

/* ---- Taking -------------------------------------------------------------------------------------------- */

typedef struct situ_subscriber situ_subscriber;

/* A message that was taken, read where its publisher wrote it. Its bytes stay as they are until it is
 * released, whatever its publisher does. Yours to store; once taken, move it by copying it and forget the old
 * one: exactly one copy may be released. May outlive its subscriber, and be read by all threads at once. */
typedef struct situ_sample {
  /* Aligned to 64 bytes. Do not write: the memory is mapped read-only. NULL once released. */
  const void* head;
  size_t head_size;
  /* As the head. NULL if it lies on a device: see situ_sample_span. */
  const void* body;
  size_t body_size;
  /* The message's number in the topic's order, from 0. */
  uint64_t sequence;
  /* When it was published, by CLOCK_MONOTONIC; 0 if its publisher leaves out time stamps. */
  uint64_t published_at_ns;
  /* The number of the node that published it. */
  uint64_t publisher;
  /* A situ_encoding. */
  uint32_t encoding;
  /* The library's own. */
  uint32_t state_;
  uint64_t held_[12];
} situ_sample;

/* Joins a topic as subscriber. `qos` may be NULL for the default. Destroy it with situ_subscriber_destroy.
 * Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE, MALFORMED, TYPE, QOS, NO_PLACE, BUSY. */
situ_status situ_subscriber_create(const situ_node* node, const char* topic, const situ_type* type,
                                   const situ_subscriber_qos* qos, situ_subscriber** subscriber,
                                   situ_error* error);
/* The same in a memory domain, into which messages of others are copied: once for all who take there.
 * `placement` may be NULL for the host. */
situ_status situ_subscriber_create_in(const situ_node* node, const char* topic, const situ_type* type,
                                      const situ_subscriber_qos* qos, const situ_placement* placement,
                                      situ_subscriber** subscriber, situ_error* error);
void situ_subscriber_destroy(situ_subscriber* subscriber);

/* Takes the next message, if there is one: SITU_OK or SITU_EMPTY. Never copies, unless its publisher is
 * not trusted (see situ_trust) or it lies in another memory domain than the subscriber takes in, and waits
 * for such a copy alone: on the host, a message that a
 * device is still filling is none yet. `sample` need not be initialized, and must not hold anything. A
 * message that cannot be taken is passed over; the next call goes on behind it. The library checks that head
 * and body lie in shared memory, and nothing about what is in them. Errors: INVALID_ARGUMENT, SYSTEM,
 * MALFORMED, NO_MEMORY, POISONED. */
situ_status situ_subscriber_take(situ_subscriber* subscriber, situ_sample* sample, situ_error* error);

/* Lets go of a message, from any thread: its memory may be used again. The numbers in the sample stay
 * readable. Without effect if it was released before. */
void situ_sample_release(situ_sample* sample);
/* 1 if head and body are a copy in private memory, because the publisher is not trusted (see situ_trust);
 * else 0: they are read where they were written. */
uint32_t situ_sample_is_copy(const situ_sample* sample);

/* Waits until there is something to take: SITU_OK, or SITU_EMPTY when the time is over. 0 only looks.
 * Errors: INVALID_ARGUMENT. */
situ_status situ_subscriber_wait(situ_subscriber* subscriber, uint64_t timeout_ns, situ_error* error);

/* Waits until one of several subscribers has something to take: SITU_OK, with the index of the first that
 * has, or SITU_EMPTY when the time is over. Errors: INVALID_ARGUMENT. */
situ_status situ_wait_any(situ_subscriber* const* subscribers, size_t count, uint64_t timeout_ns,
                          size_t* index, situ_error* error);

/* Ends waits from another thread, or from a signal's handler. */
typedef struct situ_interrupter situ_interrupter;

/* Makes an interrupter. Destroy it with situ_interrupter_destroy when nobody waits with it any more. Errors:
 * INVALID_ARGUMENT. */
situ_status situ_interrupter_create(situ_interrupter** interrupter, situ_error* error);
void situ_interrupter_destroy(situ_interrupter* interrupter);
/* Ends all waits that it was given to, and those to come, until it is reset. Any thread may call it, and so
 * may the handler of a signal. */
void situ_interrupter_interrupt(const situ_interrupter* interrupter);
void situ_interrupter_reset(const situ_interrupter* interrupter);
/* Not 0 while it ends waits. */
int32_t situ_interrupter_is_interrupted(const situ_interrupter* interrupter);

/* How to wait: for how long, and what else ends it. */
typedef struct situ_waiting {
  /* SITU_FOREVER has no limit; 0 only looks. */
  uint64_t timeout_ns;
  /* May be NULL. */
  const situ_interrupter* interrupter;
  /* Not 0: ends the wait when a signal was handled on this thread while it slept. A signal that comes right
   * before does not end it: where that matters, let its handler call situ_interrupter_interrupt. */
  uint32_t until_a_signal;
} situ_waiting;

/* As situ_subscriber_wait and situ_wait_any, which go on when a signal was handled, but something else may
 * end them: INTERRUPTED then, also though there is something to take. Other errors: INVALID_ARGUMENT. */
situ_status situ_subscriber_wait_with(situ_subscriber* subscriber, const situ_waiting* how,
                                      situ_error* error);
situ_status situ_wait_any_with(situ_subscriber* const* subscribers, size_t count, const situ_waiting* how,
                               size_t* index, situ_error* error);

/* Has an interrupter, or none with NULL, end a publisher's waits for subscribers that have no room:
 * publishing fails with INTERRUPTED then, and the loan is still yours. */
void situ_publisher_set_interrupter(situ_publisher* publisher, const situ_interrupter* interrupter);

/* A descriptor for poll, epoll and the like, readable when there is something to take, or a publisher is gone
 * whose memory the next take lets go of. It belongs to the subscriber and is made at the first call. On
 * waking: first situ_subscriber_clear_fd, then take until SITU_EMPTY. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_subscriber_fd(situ_subscriber* subscriber, int* fd, situ_error* error);

/* Makes the descriptor unreadable until the next message. Without effect if there is none yet. */
void situ_subscriber_clear_fd(situ_subscriber* subscriber);

/* What is known of a subscriber. */
typedef struct situ_subscriber_statistics {
  /* Messages that it took. */
  uint64_t taken;
  /* Messages that were overwritten before it came to take them. */
  uint64_t lost;
  /* Messages that it skipped because it keeps only the last. */
  uint64_t skipped;
  /* Messages that were too old when it came to take them. */
  uint64_t expired;
  /* How many deadlines went by without a message. */
  uint64_t deadlines_missed;
  /* How many publishers the topic has at the moment. */
  uint64_t publishers;
} situ_subscriber_statistics;

situ_subscriber_statistics situ_subscriber_get_statistics(const situ_subscriber* subscriber);

/* ---- Memory domains ------------------------------------------------------------------------------------ */

/* A range of a domain's memory. */
typedef struct situ_span {
  /* Where it begins, as work on the domain's streams sees it: on the host and with CUDA an address. */
  uint64_t address;
  /* In bytes. */
  uint64_t size;
  /* Where it begins in its memory, and how large that is, in bytes: for domains without addresses. */
  uint64_t offset;
  uint64_t memory_size;
  /* 0 host, 1 emulated, 2 Vulkan, 3 CUDA; and which of that kind. */
  uint32_t domain_kind;
  uint32_t domain_number;
} situ_span;

/* The moment at which a payload is complete: when the word in host shared memory is `value` or more.
 * INT64_MAX (2^63 - 1) in the word says that it never will be. A NULL word: it is complete already. */
typedef struct situ_fence {
  uint64_t* word;
  uint64_t value;
} situ_fence;

typedef enum situ_fence_state { SITU_COMPLETE = 0, SITU_PENDING = 1, SITU_POISONED = 2 } situ_fence_state;

/* A queue of work on a domain, done in order. All threads may use it at once. */
typedef struct situ_stream situ_stream;

/* Makes a stream. `domain` may be NULL for the host. Destroy it with situ_stream_destroy; what is enqueued is
 * still done. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_stream_create(const situ_node* node, const char* domain, situ_stream** stream,
                               situ_error* error);
void situ_stream_destroy(situ_stream* stream);

/* Waits until everything that was enqueued is done: SITU_OK, or SITU_EMPTY when the time is over. Errors:
 * INVALID_ARGUMENT, SYSTEM, if something that was enqueued failed. */
situ_status situ_stream_synchronize(const situ_stream* stream, uint64_t timeout_ns, situ_error* error);

/* The payload of a message: its body if it has one, otherwise its head. The span is good until the loan is
 * published or discarded; streams may be writing to it until they have passed. Errors: INVALID_ARGUMENT. */
situ_status situ_loan_span(situ_loan* loan, situ_span* span, situ_error* error);

/* Puts a message without a body where its publisher's bodies lie, as a whole: as many bytes as the head,
 * which stays in host memory and is then shown to those who take on a device only. Errors: INVALID_ARGUMENT,
 * SYSTEM, NO_MEMORY. */
situ_status situ_loan_span_of_message(situ_loan* loan, situ_span* span, situ_error* error);

/* Enqueues a copy of host bytes into the payload of a loan, at an offset. `from` must not change until the
 * stream has passed. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_stream_write(const situ_stream* stream, const void* from, situ_loan* loan, uint64_t offset,
                              uint64_t size, situ_error* error);

/* Publishes now, although the body is complete only when the stream has passed everything that is enqueued on
 * it so far: who takes the message waits for that. The call does not, unless the body lies in host memory. As
 * situ_loan_publish otherwise; SYSTEM if the stream failed. */
situ_status situ_loan_publish_on(situ_loan* loan, const situ_stream* stream, uint64_t* sequence,
                                 situ_error* error);

/* For streams that Situ knows nothing of: the fence of a loan, whose word your stream sets to `value` behind
 * the work that fills the body (cuStreamWriteValue64); enqueue that, then publish. Errors: as for
 * situ_loan_span, and as for situ_loan_publish. */
situ_status situ_loan_fence(situ_loan* loan, situ_fence* fence, situ_error* error);
situ_status situ_loan_publish_signalled(situ_loan* loan, uint64_t* sequence, situ_error* error);

/* The payload of a sample, where the subscriber takes. The span is good until the sample is released; release
 * it only when your streams have passed what they do with it. Errors: INVALID_ARGUMENT. */
situ_status situ_sample_span(const situ_sample* sample, situ_span* span, situ_error* error);

/* Releases a sample when the stream has passed everything that is enqueued on it so far. The sample holds
 * nothing from now on; after INVALID_ARGUMENT it is as before, after SYSTEM the message stays until this
 * process ends, because the device may still be reading it. On CUDA it is given back by whoever next enqueues
 * something on the stream, or synchronizes with it. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_sample_release_on(situ_sample* sample, const situ_stream* stream, situ_error* error);

/* Enqueues a copy of the payload of a sample to host memory. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_stream_read(const situ_stream* stream, const situ_sample* sample, uint64_t offset, void* to,
                             uint64_t size, situ_error* error);

/* Takes the next message, if there is one, in stream order: work that is enqueued on the stream from now on
 * comes after what completes the message. If it has to be brought to the subscriber's domain, the copy is
 * enqueued on the stream, and others share it. The call waits for no device; on the host, where the CPU reads
 * the message, it is situ_subscriber_take. Errors: as situ_subscriber_take. */
situ_status situ_subscriber_take_on(situ_subscriber* subscriber, const situ_stream* stream,
                                    situ_sample* sample, situ_error* error);

/* Has work that is enqueued on the stream from now on wait until the payload is complete. The call itself
 * waits only where the device cannot: then SITU_EMPTY when the time is over. Errors: INVALID_ARGUMENT,
 * SYSTEM, POISONED. */
situ_status situ_sample_wait_on(const situ_sample* sample, const situ_stream* stream, uint64_t timeout_ns,
                                situ_error* error);

/* Waits until the payload is complete: SITU_OK, or SITU_EMPTY when the time is over. Errors:
 * INVALID_ARGUMENT, POISONED. */
situ_status situ_sample_synchronize(const situ_sample* sample, uint64_t timeout_ns, situ_error* error);

/* How the payload stands now; and its fence, for streams that Situ knows nothing of (cuStreamWaitValue64).
 * Errors: INVALID_ARGUMENT. */
situ_fence_state situ_sample_state(const situ_sample* sample);
situ_status situ_sample_fence(const situ_sample* sample, situ_fence* fence, situ_error* error);

/* ---- Looking around ------------------------------------------------------------------------------------ */

/* The clock that messages are stamped with: CLOCK_MONOTONIC in nanoseconds. */
uint64_t situ_now_ns(void);

/* Notes that the program copied or serialized a message of so many bytes; and how many it did so far,
 * together with the copies that the library made on its behalf. For programs that show that there are none.
 */
void situ_count_copy(size_t bytes);
void situ_copies(uint64_t* copies, uint64_t* bytes);

/* A topic, as situ_list_topics shows it. The texts live as long as the call. */
typedef struct situ_topic_info {
  const char* name;
  const char* type_name;
  const char* schema;
  uint64_t schema_hash;
  uint64_t published;
  uint64_t publishers;
  uint64_t subscribers;
} situ_topic_info;

/* A node, as situ_list_nodes shows it. The texts live as long as the call. */
typedef struct situ_node_info {
  uint64_t id;
  const char* name;
  const char* program;
  uint32_t pid;
  /* 0: its process died and nobody has cleaned up yet. */
  uint32_t alive;
} situ_node_info;

/* Calls `visit` for every topic (node) under `root`, by name. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_list_topics(const situ_root* root,
                             void (*visit)(const situ_topic_info* topic, void* context), void* context,
                             situ_error* error);
situ_status situ_list_nodes(const situ_root* root, void (*visit)(const situ_node_info* node, void* context),
                            void* context, situ_error* error);

/* A publisher that waits for a reliable subscriber to take, as situ_list_waits shows it. The text lives as
 * long as the call. */
typedef struct situ_wait_info {
  const char* topic;
  /* The nodes of both, as in situ_node_info. */
  uint64_t publisher;
  uint64_t subscriber;
  /* For how long by now. */
  uint64_t waited_ns;
} situ_wait_info;

/* Calls `visit` for every publisher under `root` that has no room at the moment. Errors: INVALID_ARGUMENT,
 * SYSTEM. */
situ_status situ_list_waits(const situ_root* root, void (*visit)(const situ_wait_info* wait, void* context),
                            void* context, situ_error* error);

/* Removes what dead nodes have left under `root`, and counts the files of nodes and the topics that were
 * removed. `nodes` and `topics` may be NULL. Errors: INVALID_ARGUMENT. */
situ_status situ_clean(const situ_root* root, size_t* nodes, size_t* topics, situ_error* error);

/* ---- Traces -------------------------------------------------------------------------------------------- */

/* What the bus does is in every trace; these are for what the program does. A process takes part in
 * recordings
 * (`situ trace record`) with its first node, unless it was started with SITU_TRACE=0.
 *
 *   static situ_trace_category planner = SITU_TRACE_CATEGORY("planner");
 *   static situ_trace_name plan = SITU_TRACE_NAME("plan");
 *   if (SITU_TRACE_IS_ENABLED(&planner)) {
 *     const situ_trace_event event = {.category = &planner, .name = &plan};
 *     situ_trace_write(SITU_TRACE_KIND_BEGIN, &event);
 *   }
 *   ...
 *   situ_trace_end();
 *
 * Names, categories and counters are static: they last as long as the program, and so does the library that
 * they are in. Members that end with an underscore belong to the library. */

/* A name: of an event, an argument, a category. */
typedef struct situ_trace_name {
  const char* text;
  size_t length;
  uint32_t number_;
} situ_trace_name;

/* What is switched on and off as a whole. */
typedef struct situ_trace_category {
  situ_trace_name name;
  uint32_t state_;
  void* next_;
} situ_trace_category;

/* A number over time. `unit` is 0, or 1 for bytes, or 2 for nanoseconds. */
typedef struct situ_trace_counter {
  situ_trace_category* category;
  situ_trace_name name;
  uint32_t unit;
  uint64_t last_;
} situ_trace_counter;

/* How they begin; `text_` is a literal. */
#define SITU_TRACE_NAME(text_) \
  { (text_), sizeof(text_) - 1, 0 }
#define SITU_TRACE_CATEGORY(text_) \
  { SITU_TRACE_NAME(text_), 0, NULL }
#define SITU_TRACE_COUNTER(category_, text_, unit_) \
  { (category_), SITU_TRACE_NAME(text_), (unit_), UINT64_MAX }

typedef enum situ_trace_value_kind {
  SITU_TRACE_BOOL = 1,
  SITU_TRACE_UINT = 2,
  SITU_TRACE_INT = 3,
  SITU_TRACE_DOUBLE = 4,
  SITU_TRACE_TEXT = 5
} situ_trace_value_kind;

typedef union situ_trace_value {
  uint32_t as_bool;
  uint64_t as_uint;
  int64_t as_int;
  double as_double;
  /* UTF-8; its length is the argument's. What is invalid in it is replaced by U+FFFD, as in names. */
  const char* as_text;
} situ_trace_value;

/* An argument of an event. `kind` is a situ_trace_value_kind. */
typedef struct situ_trace_argument {
  situ_trace_name* name;
  situ_trace_value value;
  size_t length;
  uint32_t kind;
} situ_trace_argument;

/* The most arguments of an event; further ones are left out. */
#define SITU_TRACE_MAX_ARGUMENTS 16

/* An event. Events with the same flow number are connected by arrows; an arrow ends at `last_flows`. */
typedef struct situ_trace_event {
  situ_trace_category* category;
  situ_trace_name* name;
  const uint64_t* flows;
  size_t flow_count;
  const uint64_t* last_flows;
  size_t last_flow_count;
  const situ_trace_argument* arguments;
  size_t argument_count;
} situ_trace_event;

/* What an event is: a slice begins, or something happens. */
#define SITU_TRACE_KIND_BEGIN 1
#define SITU_TRACE_KIND_INSTANT 3

/* Decides about a category that was never asked for; whether it is on. Called by the macro. */
uint32_t situ_trace_register(situ_trace_category* category);

/* Whether a category is wanted: one relaxed load. */
#define SITU_TRACE_IS_ENABLED(category_)                           \
  (__atomic_load_n(&(category_)->state_, __ATOMIC_RELAXED) != 1 && \
   (__atomic_load_n(&(category_)->state_, __ATOMIC_RELAXED) == 2 || situ_trace_register(category_) != 0))

/* Writes an event on this thread's track, if somebody records. Ask first whether its category is on. */
void situ_trace_write(uint32_t kind, const situ_trace_event* event);

/* Ends the slice that began last on this thread. */
void situ_trace_end(void);

/* Says what a counter's number is from now on, if its category is on. */
void situ_trace_count(situ_trace_counter* counter, double value);

#ifdef __cplusplus
}
#endif

#endif
