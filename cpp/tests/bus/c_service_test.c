/* Services in plain C: typical use, and the library's answers to mistakes. Exits with 0 on success. */
#include <poll.h>
#include <situ.h>
#include <situ/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (!good) {
    fprintf(stderr, "c_service_test.c:%d: %s\n", line, what);
    failures++;
  }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

/* Long enough for a busy machine. */
static const uint64_t LONG = 20000000000;

static const situ_type number = {"test::Number",
                                 "module test {\n  struct Number {\n    uint64 value;\n  };\n};\n",
                                 0x12,
                                 0x34,
                                 SITU_FLAT,
                                 8,
                                 0};
static const situ_service_type doubling = {&number, &number};

struct pair {
  situ_node* node;
  situ_client* client;
  situ_server* server;
};

static struct pair both(const situ_root* root, const situ_service_options* options) {
  struct pair made = {NULL, NULL, NULL};
  situ_error error;
  CHECK(situ_node_create("c", root, &made.node, &error) == SITU_OK);
  CHECK(situ_client_create(made.node, "double", &doubling, options, &made.client, &error) == SITU_OK);
  CHECK(situ_server_create(made.node, "double", &doubling, options, &made.server, &error) == SITU_OK);
  return made;
}

static void destroy(struct pair made) {
  situ_client_destroy(made.client);
  situ_server_destroy(made.server);
  situ_node_destroy(made.node);
}

static uint64_t call(situ_client* client, uint64_t value, uint64_t limit_ns) {
  situ_loan loan;
  uint64_t number_of_call = 0;
  CHECK(situ_client_loan(client, 8, 8, 0, &loan, NULL) == SITU_OK);
  *(uint64_t*)loan.head = value;
  CHECK(situ_request_send(&loan, limit_ns, 0, &number_of_call, NULL) == SITU_OK);
  CHECK(loan.head == NULL && number_of_call != 0);
  return number_of_call;
}

static situ_request take(situ_server* server) {
  situ_request request;
  memset(&request, 0, sizeof request);
  CHECK(situ_server_wait(server, LONG, NULL) == SITU_OK);
  CHECK(situ_server_take(server, &request, NULL) == SITU_OK);
  return request;
}

static situ_status answer(situ_server* server, const situ_request_id* request, uint64_t value,
                          uint32_t is_last) {
  situ_loan loan;
  const situ_status status = situ_server_loan(server, request, 8, 8, 0, &loan, NULL);
  if (status != SITU_OK) return status;
  *(uint64_t*)loan.head = value;
  return situ_reply_send(&loan, is_last, 0, NULL);
}

/* Receives a part of a reply, checks its number, and returns whether the call is over. */
static int receives(situ_client* client, uint64_t number_of_call, uint64_t value) {
  situ_reply reply;
  CHECK(situ_client_receive_of(client, number_of_call, LONG, &reply, NULL) == SITU_OK);
  CHECK(reply.call == number_of_call && *(const uint64_t*)reply.sample.head == value);
  situ_sample_release(&reply.sample);
  return reply.is_last != 0;
}

static void calls_and_replies(const situ_root* root) {
  struct pair it = both(root, NULL);
  situ_reply reply;
  situ_error error;
  CHECK(situ_client_servers(it.client) == 1);
  CHECK(situ_client_wait_for_server(it.client, 0, &error) == SITU_OK);
  CHECK(situ_client_take(it.client, &reply, &error) == SITU_EMPTY);
  CHECK(situ_server_wait(it.server, 0, &error) == SITU_EMPTY);
  const uint64_t first = call(it.client, 1, SITU_FOREVER), second = call(it.client, 2, LONG);
  CHECK(situ_client_is_under_way(it.client, first) && situ_client_is_under_way(it.client, second));
  CHECK(situ_client_receive_of(it.client, first, 1000, &reply, &error) == SITU_EMPTY);
  situ_request one = take(it.server), two = take(it.server);
  CHECK(*(const uint64_t*)one.sample.head == 1 && *(const uint64_t*)two.sample.head == 2);
  CHECK(one.id.call == first && two.id.call == second && one.id.node == situ_node_id(it.node));
  CHECK(one.deadline_ns == 0 && two.deadline_ns > situ_now_ns() && !situ_request_is_cancelled(&two));
  /* In another order. The message may be released before its request, and the request before its reply. */
  situ_sample_release(&two.sample);
  CHECK(answer(it.server, &two.id, 4, 1) == SITU_OK);
  const situ_request_id later = one.id;
  situ_request_release(&one);
  situ_request_release(&one);
  CHECK(answer(it.server, &later, 2, 1) == SITU_OK);
  CHECK(receives(it.client, first, 2) && receives(it.client, second, 4));
  CHECK(!situ_client_is_under_way(it.client, first));
  situ_request_release(&two);
  /* In parts. */
  const uint64_t parts = call(it.client, 3, SITU_FOREVER);
  situ_request stream = take(it.server);
  CHECK(answer(it.server, &stream.id, 10, 0) == SITU_OK && answer(it.server, &stream.id, 11, 0) == SITU_OK);
  CHECK(situ_server_end(it.server, &stream.id, 0, &error) == SITU_OK);
  CHECK(!receives(it.client, parts, 10) && !receives(it.client, parts, 11));
  CHECK(situ_client_wait(it.client, LONG, &error) == SITU_OK);
  CHECK(situ_client_take(it.client, &reply, &error) == SITU_OK);
  CHECK(reply.call == parts && reply.is_last && reply.sample.head == NULL);
  situ_sample_release(&reply.sample);
  situ_request_release(&stream);
  const situ_server_statistics statistics = situ_server_get_statistics(it.server);
  CHECK(statistics.clients == 1 && statistics.answered_clients == 1 && statistics.expired == 0);
  destroy(it);
}

static void ends_of_calls(const situ_root* root) {
  situ_service_options options = situ_service_options_default();
  CHECK(options.max_calls == 64 && options.depth == 64 && options.max_held == 256);
  options.max_calls = 2;
  struct pair it = both(root, &options);
  situ_reply reply;
  situ_error error;
  situ_loan loan;
  uint64_t number_of_call = 0;
  /* A refusal. */
  const uint64_t refused = call(it.client, 1, SITU_FOREVER);
  situ_request request = take(it.server);
  CHECK(situ_server_refuse(it.server, &request.id, 7, "not now", &error) == SITU_OK);
  CHECK(situ_client_receive_of(it.client, refused, LONG, &reply, &error) == SITU_ERROR_REFUSED);
  CHECK(reply.call == refused && reply.code == 7 && strcmp(reply.text, "not now") == 0 && reply.is_last);
  CHECK(reply.sample.head == NULL && strstr(error.text, "not now") != NULL);
  situ_sample_release(&reply.sample);
  situ_request_release(&request);
  CHECK(situ_client_take_of(it.client, refused, &reply, &error) == SITU_ERROR_UNKNOWN_CALL);
  /* A cancellation. */
  const uint64_t cancelled = call(it.client, 2, SITU_FOREVER);
  request = take(it.server);
  CHECK(situ_client_cancel(it.client, cancelled, &error) == SITU_OK);
  CHECK(situ_client_cancel(it.client, cancelled, &error) == SITU_OK);
  CHECK(situ_server_collect(it.server, &error) == SITU_OK && situ_request_is_cancelled(&request));
  situ_request_release(&request);
  CHECK(situ_request_is_cancelled(&request));
  /* A deadline. */
  const uint64_t late = call(it.client, 3, 1000000);
  CHECK(situ_client_receive_of(it.client, late, LONG, &reply, &error) == SITU_ERROR_DEADLINE);
  CHECK(reply.call == late && reply.text == NULL);
  /* Too many. The loan stays, and may be sent again. */
  const uint64_t third = call(it.client, 4, SITU_FOREVER), fourth = call(it.client, 5, SITU_FOREVER);
  CHECK(situ_client_loan(it.client, 8, 8, 0, &loan, &error) == SITU_OK);
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_ERROR_TOO_MANY_CALLS);
  CHECK(loan.head != NULL && number_of_call == 0);
  CHECK(situ_client_cancel(it.client, third, &error) == SITU_OK);
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_OK && number_of_call != 0);
  /* The server leaves. */
  situ_server_destroy(it.server);
  it.server = NULL;
  CHECK(situ_client_receive_of(it.client, fourth, LONG, &reply, &error) == SITU_ERROR_SERVER_GONE);
  CHECK(reply.call == fourth);
  CHECK(situ_client_wait(it.client, LONG, &error) == SITU_OK);
  CHECK(situ_client_take(it.client, &reply, &error) == SITU_ERROR_SERVER_GONE &&
        reply.call == number_of_call);
  CHECK(situ_client_loan(it.client, 8, 8, 0, &loan, &error) == SITU_OK);
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_ERROR_NO_SERVER);
  CHECK(situ_client_wait_for_server(it.client, 1000000, &error) == SITU_EMPTY);
  /* The client is destroyed while it has a loan. */
  situ_client_destroy(it.client);
  situ_loan_discard(&loan);
  situ_node_destroy(it.node);

  /* A client that leaves. */
  it = both(root, NULL);
  (void)call(it.client, 1, SITU_FOREVER);
  request = take(it.server);
  situ_client_destroy(it.client);
  CHECK(answer(it.server, &request.id, 1, 1) == SITU_ERROR_CLIENT_GONE);
  situ_request_release(&request);
  situ_server_destroy(it.server);
  situ_node_destroy(it.node);
}

/* Wrong arguments, handles of other kinds, ids that the caller made up. */
static void mistakes(const situ_root* root) {
  struct pair it = both(root, NULL);
  situ_publisher* publisher = NULL;
  situ_client* client = NULL;
  situ_server* server = NULL;
  situ_error error;
  situ_loan loan, none;
  situ_reply reply;
  situ_request request;
  uint64_t number_of_call = 0;
  int fd = -1;
  memset(&none, 0, sizeof none);
  memset(&request, 0, sizeof request);
  const situ_service_type half = {&number, NULL};
  situ_service_options wrong = situ_service_options_default();
  wrong.trust = 9;
  CHECK(situ_client_create(NULL, "x", &doubling, NULL, &client, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_create(it.node, NULL, &doubling, NULL, &client, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_create(it.node, "x", NULL, NULL, &client, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_create(it.node, "x", &half, NULL, &client, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_create(it.node, "x", &doubling, &wrong, &client, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_create(it.node, "x", &doubling, NULL, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_create(it.node, "", &doubling, NULL, &client, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_create(it.node, "situ:x", &doubling, NULL, &server, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_create(NULL, "x", &doubling, NULL, &server, NULL) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(client == NULL && server == NULL);
  situ_client_destroy(NULL);
  situ_server_destroy(NULL);
  situ_request_release(NULL);
  situ_request_release(&request);
  CHECK(situ_request_is_cancelled(NULL) && situ_request_is_cancelled(&request));
  CHECK(situ_client_servers(NULL) == 0 && situ_client_is_under_way(NULL, 1) == 0);
  CHECK(situ_server_get_statistics(NULL).clients == 0);
  CHECK(situ_client_loan(NULL, 8, 8, 0, &loan, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_loan(it.client, 8, 8, 0, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_loan(it.client, 8, 3, 0, &loan, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_take(NULL, &reply, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_take(it.client, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_wait(NULL, 0, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_cancel(NULL, 1, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_cancel(it.client, 12345, &error) == SITU_OK);
  CHECK(situ_client_take_of(it.client, 12345, &reply, &error) == SITU_ERROR_UNKNOWN_CALL &&
        reply.call == 12345);
  CHECK(situ_client_receive_of(it.client, 0, SITU_FOREVER, &reply, &error) == SITU_ERROR_UNKNOWN_CALL);
  CHECK(situ_client_fd(it.client, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_fd(NULL, &fd, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_take(NULL, &request, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_take(it.server, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_loan(it.server, NULL, 8, 8, 0, &loan, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_end(it.server, NULL, 0, &error) == SITU_ERROR_INVALID_ARGUMENT);

  /* A loan of one kind is no loan of another kind. It stays. */
  CHECK(situ_publisher_create(it.node, "numbers", &number, NULL, &publisher, &error) == SITU_OK);
  CHECK(situ_request_send(NULL, 0, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_request_send(&none, 0, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_loan(publisher, 8, 8, 0, &loan, &error) == SITU_OK);
  CHECK(situ_request_send(&loan, 0, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_reply_send(&loan, 1, 0, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(error.text, "situ_loan_publish") != NULL && loan.head != NULL);
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_OK);
  CHECK(situ_client_loan(it.client, 8, 8, 16, &loan, &error) == SITU_OK);
  CHECK(situ_request_send(&loan, 0, 0, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_request_send_on(&loan, NULL, 0, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_reply_send(&loan, 1, 0, &error) == SITU_ERROR_INVALID_ARGUMENT);
  loan.body_size = 17;
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  loan.body_size = 4;
  loan.encoding = 77;
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  loan.encoding = SITU_FLAT;
  situ_span span;
  CHECK(situ_loan_span(&loan, &span, &error) == SITU_OK && span.size == 4);
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_OK);
  CHECK(situ_request_send(&loan, SITU_FOREVER, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  request = take(it.server);
  CHECK(request.sample.body_size == 4);
  CHECK(situ_server_loan(it.server, &request.id, 8, 8, 0, &loan, &error) == SITU_OK);
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_request_send(&loan, 0, 0, &number_of_call, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_loan_discard(&loan);
  situ_loan_discard(&loan);
  /* An id that nobody has. */
  situ_request_id wild = request.id;
  wild.client ^= 1;
  wild.sent_at_ns = UINT64_MAX;
  CHECK(situ_server_loan(it.server, &wild, 8, 8, 0, &loan, &error) == SITU_ERROR_CLIENT_GONE);
  CHECK(situ_server_refuse(it.server, &request.id, 1, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_refuse(it.server, &request.id, 1, "\xff", &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_refuse(it.server, &request.id, 1, "", &error) == SITU_OK);
  situ_request_release(&request);
  situ_publisher_destroy(publisher);
  destroy(it);
}

struct state {
  struct pair it;
  situ_executor* executor;
  uint64_t sum;
};

static situ_status on_request(void* context, uint32_t io, situ_error* error) {
  struct state* state = context;
  situ_request request;
  (void)io;
  const situ_status status = situ_server_take(state->it.server, &request, error);
  if (status != SITU_OK) return status;
  const uint64_t value = *(const uint64_t*)request.sample.head;
  CHECK(answer(state->it.server, &request.id, 2 * value, 1) == SITU_OK);
  situ_request_release(&request);
  return SITU_OK;
}

static situ_status on_reply(void* context, uint32_t io, situ_error* error) {
  struct state* state = context;
  situ_reply reply;
  (void)io;
  const situ_status status = situ_client_take(state->it.client, &reply, error);
  if (status != SITU_OK) return status;
  state->sum += *(const uint64_t*)reply.sample.head;
  situ_sample_release(&reply.sample);
  if (state->sum == 12) situ_executor_stop(state->executor);
  return SITU_OK;
}

/* An interrupter ends the waits of clients and servers, and after a reset they wait again. */
static void interrupts(const situ_root* root) {
  situ_error error;
  struct pair made = both(root, NULL);
  situ_interrupter* stop = NULL;
  CHECK(situ_interrupter_create(&stop, &error) == SITU_OK);
  situ_waiting how = {SITU_FOREVER, stop, 0};
  const uint64_t asked = call(made.client, 1, SITU_FOREVER);
  situ_reply reply;
  situ_interrupter_interrupt(stop);
  CHECK(situ_client_wait_for_server_with(made.client, &how, &error) == SITU_ERROR_INTERRUPTED);
  CHECK(situ_client_wait_with(made.client, &how, &error) == SITU_ERROR_INTERRUPTED);
  CHECK(situ_client_receive_of_with(made.client, asked, &how, &reply, &error) == SITU_ERROR_INTERRUPTED);
  CHECK(reply.call == 0 && reply.is_last == 0 && situ_client_is_under_way(made.client, asked));
  CHECK(situ_server_wait_with(made.server, &how, &error) == SITU_ERROR_INTERRUPTED);
  situ_interrupter_reset(stop);
  how.timeout_ns = 1000;
  CHECK(situ_client_wait_for_server_with(made.client, &how, &error) == SITU_OK);
  CHECK(situ_client_wait_with(made.client, &how, &error) == SITU_EMPTY);
  CHECK(situ_client_receive_of_with(made.client, asked, &how, &reply, &error) == SITU_EMPTY);
  CHECK(situ_server_wait_with(made.server, &how, &error) == SITU_OK);
  CHECK(situ_client_receive_of_with(made.client, asked, NULL, &reply, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_client_wait_with(NULL, &how, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_server_wait_with(made.server, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_client_set_interrupter(made.client, stop);
  situ_server_set_interrupter(made.server, stop);
  situ_client_set_interrupter(NULL, stop);
  situ_server_set_interrupter(made.server, NULL);
  situ_interrupter_destroy(stop);
  destroy(made);
}

static void sources(const situ_root* root) {
  struct state state = {both(root, NULL), NULL, 0};
  situ_error error;
  situ_wait_set* set = NULL;
  uint64_t server = 0, client = 0, again = 0;
  situ_ready ready[4];
  size_t count = 0;
  CHECK(situ_wait_set_create(state.it.node, &set, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_server(set, state.it.server, &server, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_client(set, state.it.client, &client, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_client(set, state.it.client, &again, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_wait_set_attach_client(set, NULL, &again, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_wait_set_attach_server(set, NULL, &again, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_wait_set_wait(set, 1000000, ready, 4, &count, &error) == SITU_EMPTY);
  (void)call(state.it.client, 1, SITU_FOREVER);
  int found = 0;
  while (!found) {
    CHECK(situ_wait_set_wait(set, LONG, ready, 4, &count, &error) == SITU_OK);
    for (size_t i = 0; i < count; ++i) found |= ready[i].id == server;
    if (failures != 0) break;
  }
  situ_wait_set_destroy(set);

  CHECK(situ_executor_create(state.it.node, &state.executor, &error) == SITU_OK);
  const situ_callback asks = {on_request, NULL, &state, 0}, answers = {on_reply, NULL, &state, 0};
  CHECK(situ_executor_add_server(state.executor, NULL, state.it.server, &asks, NULL, &error) == SITU_OK);
  CHECK(situ_executor_add_client(state.executor, NULL, state.it.client, &answers, NULL, &error) == SITU_OK);
  CHECK(situ_executor_add_client(state.executor, NULL, NULL, &answers, NULL, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  (void)call(state.it.client, 2, SITU_FOREVER);
  (void)call(state.it.client, 3, SITU_FOREVER);
  CHECK(situ_executor_spin(state.executor, 1, &error) == SITU_OK && state.sum == 12);
  situ_executor_destroy(state.executor);
  destroy(state.it);
}

static void descriptors(const situ_root* root) {
  struct pair it = both(root, NULL);
  situ_error error;
  int asks = -1, answers = -1;
  CHECK(situ_server_fd(it.server, &asks, &error) == SITU_OK);
  CHECK(situ_client_fd(it.client, &answers, &error) == SITU_OK);
  const uint64_t number_of_call = call(it.client, 1, SITU_FOREVER);
  struct pollfd polled = {asks, POLLIN, 0};
  CHECK(poll(&polled, 1, 20000) == 1);
  situ_server_clear_fd(it.server);
  situ_request request = take(it.server);
  CHECK(answer(it.server, &request.id, 2, 1) == SITU_OK);
  polled.fd = answers;
  CHECK(poll(&polled, 1, 20000) == 1);
  situ_client_clear_fd(it.client);
  CHECK(receives(it.client, number_of_call, 2));
  situ_request_release(&request);
  destroy(it);
}

static void forked(const situ_root* root) {
  struct pair it = both(root, NULL);
  const uint64_t number_of_call = call(it.client, 1, SITU_FOREVER);
  situ_request request = take(it.server);
  const pid_t child = fork();
  if (child == 0) {
    situ_loan loan;
    situ_reply reply;
    situ_request other;
    uint64_t id = 0;
    CHECK(situ_client_loan(it.client, 8, 8, 0, &loan, NULL) == SITU_ERROR_FORKED);
    CHECK(situ_client_take(it.client, &reply, NULL) == SITU_ERROR_FORKED);
    CHECK(situ_client_wait(it.client, SITU_FOREVER, NULL) == SITU_ERROR_FORKED);
    CHECK(situ_client_wait_for_server(it.client, SITU_FOREVER, NULL) == SITU_ERROR_FORKED);
    CHECK(situ_server_take(it.server, &other, NULL) == SITU_ERROR_FORKED);
    CHECK(situ_server_wait(it.server, SITU_FOREVER, NULL) == SITU_ERROR_FORKED);
    CHECK(answer(it.server, &request.id, 1, 1) == SITU_ERROR_FORKED);
    CHECK(situ_wait_set_attach_client(NULL, it.client, &id, NULL) == SITU_ERROR_INVALID_ARGUMENT);
    situ_request_release(&request);
    destroy(it);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(answer(it.server, &request.id, 2, 1) == SITU_OK && receives(it.client, number_of_call, 2));
  situ_request_release(&request);
  destroy(it);
}

int main(void) {
  char path[64];
  snprintf(path, sizeof path, "/dev/shm/situ-test-c-service-%d", (int)getpid());
  const situ_root root = {path, SITU_NO_GROUP, SITU_DEFAULT_DOMAIN};
  calls_and_replies(&root);
  ends_of_calls(&root);
  mistakes(&root);
  interrupts(&root);
  sources(&root);
  descriptors(&root);
  forked(&root);
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  CHECK(system(command) == 0);
  return failures == 0 ? 0 : 1;
}
