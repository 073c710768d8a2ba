/* Services: requests, and replies that reach their client alone. The rules of situ.h hold here.
 *
 *   situ_client *client;
 *   situ_client_create(node, "add", &add_type, NULL, &client, NULL);
 *   situ_client_wait_for_server(client, SITU_FOREVER, NULL);
 *   situ_loan loan;
 *   uint64_t call;
 *   situ_client_loan(client, sizeof(struct sum), 8, 0, &loan, NULL);
 *   ...write to loan.head...
 *   situ_request_send(&loan, SITU_FOREVER, 0, &call, NULL);
 *   situ_reply reply;
 *   if (situ_client_receive_of(client, call, SITU_FOREVER, &reply, &error) == SITU_OK) {
 *     ...read reply.sample.head...
 *     situ_sample_release(&reply.sample);
 *   }
 *
 * - One thread at a time uses a client or a server with its loans. Requests and replies that were taken
 *   belong to no thread.
 * - Loans of requests and replies are loans as publishers lend them: all functions for loans take them,
 *   except those that publish. `situ_loan_discard` sends nothing. Samples in requests and replies are samples
 *   as subscribers take them.
 * - Lending, sending, taking and releasing do not allocate, once warm. They make a system call only to wake a
 *   sleeping thread, or every few milliseconds to check whether the other side is alive.
 */
#ifndef SITU_SERVICE_H
#define SITU_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "situ.h"
#include "situ/execute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The types of a service. Clients and servers of a service have the same. Their `user_header_size` is 0. */
typedef struct situ_service_type {
  const situ_type* request;
  const situ_type* reply;
} situ_service_type;

/* The options of a client or a server. Start with situ_service_options_default(). */
typedef struct situ_service_options {
  /* How many calls a client may have under way at once, at most 32768 (default: 64). A server ignores it. */
  uint64_t max_calls;
  /* How many of its messages may wait to be taken: a client's requests by the slowest server, a server's
   * replies by a client (default: 64). */
  uint64_t depth;
  /* How many of others' messages may wait for it: a server's requests, a client's replies. Beyond it the
   * oldest are skipped, and no other participant waits for this one. A call whose request or reply was
   * skipped ends by its limit or by a cancellation only; cancellations count as requests. 0 (the default):
   * all are kept, and others wait. */
  uint64_t keep_last;
  /* How many messages of others it may hold at a time, at most 493 (default: 256). */
  uint64_t max_held;
  /* The largest message, and the largest part of another's memory that is mapped, in bytes. */
  uint64_t max_message;
  uint64_t max_pool;
  /* A situ_trust. */
  uint32_t trust;
  /* Not 0: its messages carry no time stamps, and sending does not read the clock. */
  uint32_t without_stamps;
  /* The memory domains of requests and of replies. */
  situ_placement requests;
  situ_placement replies;
  /* Up to SITU_MAX_USER_DATA bytes that all participants can read (situ/graph.h). */
  const void* user_data;
  size_t user_data_size;
} situ_service_options;

situ_service_options situ_service_options_default(void);

/* ---- Clients ------------------------------------------------------------------------------------------- */

typedef struct situ_client situ_client;

/* Joins a service as client. `options` may be NULL. Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE, MALFORMED,
 * TYPE, NO_PLACE, BUSY, FORKED, REMOVED. */
situ_status situ_client_create(const situ_node* node, const char* service, const situ_service_type* type,
                               const situ_service_options* options, situ_client** client, situ_error* error);
/* Leaves the service. While the client has loans, it stays until the last of them is sent or discarded. */
void situ_client_destroy(situ_client* client);

/* The client's id, which never repeats: the one under which the graph lists it (situ/graph.h), and which the
 * requests carry as `node` and `client` (situ_request_id). */
void situ_client_id(const situ_client* client, uint8_t id[16]);
/* The present number of servers. */
uint64_t situ_client_servers(const situ_client* client);
/* Waits until the service has a server: SITU_OK, or SITU_EMPTY when the timeout passes first. Errors:
 * INVALID_ARGUMENT, FORKED. */
situ_status situ_client_wait_for_server(const situ_client* client, uint64_t timeout_ns, situ_error* error);
/* The same, but an interrupter or a signal may end the wait: see situ_subscriber_wait_with. Also fails with
 * INTERRUPTED. */
situ_status situ_client_wait_for_server_with(const situ_client* client, const situ_waiting* how,
                                             situ_error* error);

/* Lends memory for a request: see situ_publisher_loan and situ_publisher_loan_growing. */
situ_status situ_client_loan(situ_client* client, size_t head_size, size_t head_align, size_t body_size,
                             situ_loan* loan, situ_error* error);
situ_status situ_client_loan_growing(situ_client* client, size_t body_size, size_t room, situ_loan* loan,
                                     situ_error* error);

/* Sends a request, and begins a call. `call` receives its number, which is not 0 and is never used again. The
 * call is over when `limit_ns` have passed; SITU_FOREVER: it has no limit. `block_ns` is the longest time to
 * wait for a server that has no room; 0: that is an error at once. After an error the loan is still valid.
 * Errors: INVALID_ARGUMENT, NO_SERVER, TOO_MANY_CALLS, FULL, DEADLOCK, MALFORMED, FORKED, REMOVED. */
situ_status situ_request_send(situ_loan* loan, uint64_t limit_ns, uint64_t block_ns, uint64_t* call,
                              situ_error* error);
/* The same before the request is complete: see situ_loan_publish_on. */
situ_status situ_request_send_on(situ_loan* loan, const situ_stream* stream, uint64_t limit_ns,
                                 uint64_t block_ns, uint64_t* call, situ_error* error);

/* A reply, or a part of one. The caller stores the struct, and releases the sample. */
typedef struct situ_reply {
  /* The message. Its head is NULL if there is none: at the end of a streamed reply, and after an error. */
  situ_sample sample;
  /* The call. After an error, the call that is over with it, or 0 if it belongs to no call. */
  uint64_t call;
  /* After REFUSED: the server's number for the reason, and its text. The text belongs to the client, and is
   * valid until the next refusal. Otherwise 0 and NULL. */
  uint64_t code;
  const char* text;
  /* Not 0: the call is over. */
  uint32_t is_last;
} situ_reply;

/* Takes the next reply to any call: SITU_OK or SITU_EMPTY. `reply` need not be initialized, and must not hold
 * a message. It is also written if the function fails with one of these errors: SERVER_GONE if no server is
 * left that can answer the call, DEADLINE if its time is over, REFUSED if a server refused it, or those of
 * situ_subscriber_take. Other errors: INVALID_ARGUMENT. */
situ_status situ_client_take(situ_client* client, situ_reply* reply, situ_error* error);
/* The same for one call. Replies to other calls are kept for them. Also fails with UNKNOWN_CALL. */
situ_status situ_client_take_of(situ_client* client, uint64_t call, situ_reply* reply, situ_error* error);
/* Waits for the next reply to one call, and takes it. SITU_EMPTY when the timeout passes first; the call
 * remains under way. Errors: as for situ_client_take_of. */
situ_status situ_client_receive_of(situ_client* client, uint64_t call, uint64_t timeout_ns, situ_reply* reply,
                                   situ_error* error);
/* Waits until situ_client_take returns a reply or an error: SITU_OK, or SITU_EMPTY when the timeout passes
 * first. Errors: INVALID_ARGUMENT, FORKED. */
situ_status situ_client_wait(situ_client* client, uint64_t timeout_ns, situ_error* error);
/* As the two functions above, but an interrupter or a signal may end the wait, even if there is a reply: then
 * INTERRUPTED. The call remains under way. */
situ_status situ_client_receive_of_with(situ_client* client, uint64_t call, const situ_waiting* how,
                                        situ_reply* reply, situ_error* error);
situ_status situ_client_wait_with(situ_client* client, const situ_waiting* how, situ_error* error);
/* Sets an interrupter that ends the waits for servers without room; NULL removes it. Sending then fails with
 * INTERRUPTED, and the loan stays valid. */
void situ_client_set_interrupter(situ_client* client, const situ_interrupter* interrupter);

/* Ends a call, and tells the servers. Its replies are dropped. Does nothing if the call is over. An error if
 * the servers could not be told; the call is over all the same. Errors: INVALID_ARGUMENT, those of
 * situ_request_send. */
situ_status situ_client_cancel(situ_client* client, uint64_t call, situ_error* error);
/* Not 0 while a call is under way, or has replies that were not taken. */
int32_t situ_client_is_under_way(const situ_client* client, uint64_t call);

/* A descriptor for poll, epoll and the like, readable when situ_client_take may return a reply or an error.
 * While calls are under way it also becomes readable every few milliseconds, so that the next take checks
 * deadlines and servers. The client owns it. On waking, clear it first, then take until SITU_EMPTY. Errors:
 * INVALID_ARGUMENT, SYSTEM, FORKED. */
situ_status situ_client_fd(situ_client* client, int* fd, situ_error* error);
void situ_client_clear_fd(situ_client* client);

/* ---- Servers ------------------------------------------------------------------------------------------- */

typedef struct situ_server situ_server;

/* Joins a service as server: see situ_client_create. */
situ_status situ_server_create(const situ_node* node, const char* service, const situ_service_type* type,
                               const situ_service_options* options, situ_server** server, situ_error* error);
/* Leaves the service. While the server has loans, it stays until the last of them is sent or discarded.
 * Requests that were taken stay valid. */
void situ_server_destroy(situ_server* server);

/* The server's id, which never repeats: the one under which the graph lists it. */
void situ_server_id(const situ_server* server, uint8_t id[16]);

/* What a reply needs to know of its request. It may be copied, and stays usable after the
 * request is released. */
typedef struct situ_request_id {
  /* The node and the number of the client. */
  uint64_t node;
  uint64_t client;
  /* The number of the call, unique for the client. */
  uint64_t call;
  /* When it was sent, by situ_now_ns. */
  uint64_t sent_at_ns;
} situ_request_id;

/* A request that was taken. The caller stores the struct. To move it, copy the struct and do not use the old
 * one: exactly one copy may be released. */
typedef struct situ_request {
  /* The message. It may be released before the request. */
  situ_sample sample;
  situ_request_id id;
  /* When the client stops waiting, by situ_now_ns. 0: it waits until there is no server. */
  uint64_t deadline_ns;
  /* Internal. */
  uint32_t state_;
  uint64_t handle_[6];
} situ_request;

/* Takes the next request: SITU_OK or SITU_EMPTY. Requests whose time is over are skipped. `request` need not
 * be initialized, and must not hold a request. Errors: as for situ_subscriber_take. */
situ_status situ_server_take(situ_server* server, situ_request* request, situ_error* error);
/* Releases a request and its message, from any thread. Does nothing if it is released already. */
void situ_request_release(situ_request* request);
/* Not 0 if the client needs no reply any more: it has cancelled the call, has ended, or the call's time is
 * over. A cancellation is known when the server has taken what clients sent since: see situ_server_collect.
 */
int32_t situ_request_is_cancelled(const situ_request* request);

/* Takes what clients have sent meanwhile, so that cancellations are known. Requests are kept for the next
 * situ_server_take. Errors: as for situ_server_take. */
situ_status situ_server_collect(situ_server* server, situ_error* error);
/* Waits until situ_server_take may return a request: SITU_OK, or SITU_EMPTY when the timeout passes first.
 * Errors: INVALID_ARGUMENT, FORKED. */
situ_status situ_server_wait(situ_server* server, uint64_t timeout_ns, situ_error* error);
/* The same, but an interrupter or a signal may end the wait, even if there is a request: then INTERRUPTED. */
situ_status situ_server_wait_with(situ_server* server, const situ_waiting* how, situ_error* error);
/* Sets an interrupter that ends the waits for clients without room: see situ_client_set_interrupter. */
void situ_server_set_interrupter(situ_server* server, const situ_interrupter* interrupter);

/* Lends memory for a reply, or a part of one: see situ_publisher_loan and situ_publisher_loan_growing. Also
 * fails with CLIENT_GONE, and with the errors of situ_publisher_create. */
situ_status situ_server_loan(situ_server* server, const situ_request_id* request, size_t head_size,
                             size_t head_align, size_t body_size, situ_loan* loan, situ_error* error);
situ_status situ_server_loan_growing(situ_server* server, const situ_request_id* request, size_t body_size,
                                     size_t room, situ_loan* loan, situ_error* error);

/* Sends a reply. `is_last` not 0: it is the whole reply, or the last part. 0: other parts follow, or an end.
 * `block_ns` is the longest time to wait for a client that has no room; 0: that is an error at once. After an
 * error the loan is still valid. Errors: INVALID_ARGUMENT, CLIENT_GONE, FULL, DEADLOCK, MALFORMED, FORKED,
 * REMOVED. */
situ_status situ_reply_send(situ_loan* loan, uint32_t is_last, uint64_t block_ns, situ_error* error);
/* The same before the reply is complete: see situ_loan_publish_on. */
situ_status situ_reply_send_on(situ_loan* loan, const situ_stream* stream, uint32_t is_last,
                               uint64_t block_ns, situ_error* error);
/* Ends a reply whose last part was sent as one that others follow. Errors: as for situ_server_loan and
 * situ_reply_send. */
situ_status situ_server_end(situ_server* server, const situ_request_id* request, uint64_t block_ns,
                            situ_error* error);
/* Refuses a request, with a number and a text of the program's choice. The client's call ends with both.
 * Errors: as for situ_server_end. */
situ_status situ_server_refuse(situ_server* server, const situ_request_id* request, uint64_t code,
                               const char* text, situ_error* error);

/* A descriptor for poll, epoll and the like, readable when a request came. The server owns it. On waking,
 * clear it first, then take until SITU_EMPTY. Errors: INVALID_ARGUMENT, SYSTEM, FORKED. */
situ_status situ_server_fd(situ_server* server, int* fd, situ_error* error);
void situ_server_clear_fd(situ_server* server);

/* Statistics of a server. */
typedef struct situ_server_statistics {
  /* The present number of clients. */
  uint64_t clients;
  /* Clients that it has answered and that have not ended, as far as it knows. */
  uint64_t answered_clients;
  /* Requests that were skipped because their time was over. */
  uint64_t expired;
} situ_server_statistics;

situ_server_statistics situ_server_get_statistics(const situ_server* server);

/* ---- Wait sets and executors --------------------------------------------------------------------------- */

/* As the functions for subscribers in execute.h. A client or a server may be attached to one set or executor
 * at a time. While a client has calls under way, it is also reported every few milliseconds, so that the next
 * take checks deadlines and servers. */
situ_status situ_wait_set_attach_client(situ_wait_set* set, const situ_client* client, uint64_t* id,
                                        situ_error* error);
situ_status situ_wait_set_attach_server(situ_wait_set* set, const situ_server* server, uint64_t* id,
                                        situ_error* error);
situ_status situ_executor_add_client(situ_executor* executor, const situ_callback_group* group,
                                     const situ_client* client, const situ_callback* callback, uint64_t* id,
                                     situ_error* error);
situ_status situ_executor_add_server(situ_executor* executor, const situ_callback_group* group,
                                     const situ_server* server, const situ_callback* callback, uint64_t* id,
                                     situ_error* error);

#ifdef __cplusplus
}
#endif

#endif
