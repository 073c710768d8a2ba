/* The graph for C: which nodes there are, what each publishes, subscribes to, calls and serves, and waiting
 * for changes. Include situ.h for the conventions of all functions.
 *
 *   situ_graph_watch *watch;
 *   situ_graph_watch_create(NULL, &watch, NULL);
 *   do {
 *     situ_graph_read(NULL, print_node, print_endpoint, NULL, NULL);
 *   } while (situ_graph_watch_wait(watch, SITU_FOREVER, NULL) == SITU_OK);
 */
#ifndef SITU_GRAPH_H
#define SITU_GRAPH_H

#include "situ.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A living node, as passed by situ_graph_read. The texts and the user data are valid during the call. */
typedef struct situ_graph_node {
  uint64_t id;
  const char* name;
  /* "/", or names that each begin with a "/". */
  const char* node_namespace;
  const char* program;
  const void* user_data;
  size_t user_data_size;
  uint32_t pid;
} situ_graph_node;

typedef enum situ_endpoint_role {
  SITU_ROLE_PUBLISHER = 1,
  SITU_ROLE_SUBSCRIBER = 2,
  SITU_ROLE_CLIENT = 3,
  SITU_ROLE_SERVER = 4
} situ_endpoint_role;

/* A publisher, subscriber, client or server, as passed by situ_graph_read. The texts and the user data are
 * valid during the call. */
typedef struct situ_endpoint_info {
  /* It never repeats: see situ_publisher_id. The first 8 bytes are the number of its node, little-endian. */
  uint8_t id[16];
  /* A situ_endpoint_role. */
  uint32_t role;
  /* A situ_encoding; of a service, that of requests. */
  uint32_t encoding;
  /* The name of its topic or service. */
  const char* name;
  /* The name of its type: of a service "<request> -> <reply>". A name of more than 544 bytes is cut. */
  const char* type_name;
  /* The memory domain of its messages, for example "host". */
  const char* domain;
  uint64_t schema_hash;
  uint64_t layout_hash;
  /* A situ_reliability and a situ_durability. */
  uint32_t reliability;
  uint32_t durability;
  /* How many messages stay available, or are kept. 0: all. */
  uint64_t depth;
  /* 0: none. */
  uint64_t deadline_ns;
  uint64_t lifespan_ns;
  uint64_t lease_ns;
  /* A situ_liveliness. */
  uint32_t liveliness;
  const void* user_data;
  size_t user_data_size;
} situ_endpoint_info;

typedef void (*situ_graph_visit_node)(const situ_graph_node* node, void* context);
typedef void (*situ_graph_visit_endpoint)(const situ_graph_node* node, const situ_endpoint_info* endpoint,
                                          void* context);

/* Calls `visit_node` for each living node under `root`, sorted by namespace and name, and after it
 * `visit_endpoint` for each endpoint of the node. Either may be NULL. Errors: INVALID_ARGUMENT, SYSTEM,
 * UNSAFE. */
situ_status situ_graph_read(const situ_root* root, situ_graph_visit_node visit_node,
                            situ_graph_visit_endpoint visit_endpoint, void* context, situ_error* error);

/* Tells when the graph of a root has changed: nodes or endpoints were created or destroyed, or a process has
 * died. It does not say what. Create the watch first and read the graph then, so that no change is missed.
 * All threads may use a watch at once. */
typedef struct situ_graph_watch situ_graph_watch;

/* Begins to watch. Creates the root if it does not exist. Errors: INVALID_ARGUMENT, SYSTEM, UNSAFE. */
situ_status situ_graph_watch_create(const situ_root* root, situ_graph_watch** watch, situ_error* error);
void situ_graph_watch_destroy(situ_graph_watch* watch);

/* SITU_OK if the graph may have changed since the last call, or since the watch was created; SITU_EMPTY if it
 * has not. Does not wait. Errors: INVALID_ARGUMENT, SYSTEM, FORKED, REMOVED. */
situ_status situ_graph_watch_take(const situ_graph_watch* watch, situ_error* error);

/* Waits until the graph may have changed: SITU_OK; or SITU_EMPTY when the timeout passes. Errors: as
 * situ_graph_watch_take. */
situ_status situ_graph_watch_wait(const situ_graph_watch* watch, uint64_t timeout_ns, situ_error* error);

/* A descriptor for epoll, and for wait sets and executors (situ_wait_set_attach_descriptor). It is readable
 * until situ_graph_watch_take is called after a change. The watch owns it. */
int situ_graph_watch_fd(const situ_graph_watch* watch);

#ifdef __cplusplus
}
#endif

#endif
