/* A program that serves or calls an operation that raises exceptions, in C. The test
 * tests/generated/tests/operation_peers.rs starts it, and does the same in Rust:
 *
 *   operation_peer_c <root> serve <count>    prints "ready", and answers so many requests
 *   operation_peer_c <root> call             prints the outcome of each call
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/calculator.h"
#include "situ/service.h"

static const uint64_t LIMIT_NS = 30000000000;

static situ_error error;

/* Ends the program with the library's own words, unless all went well. */
static void check(situ_status status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
}

/* Ends the program if another process wrote what is no message of the type. */
static void check_content(situ_sample* sample, size_t size, const char* type) {
  check(situ_expect_flat(sample, size, type, &error));
}

static void serve(situ_node* node, const situ_service_type* type, int count) {
  situ_server* server;
  check(situ_server_create(node, "divide", type, NULL, &server, &error));
  puts("ready");
  fflush(stdout);
  while (count > 0) {
    if (situ_server_wait(server, LIMIT_NS, &error) != SITU_OK) {
      fprintf(stderr, "no request came\n");
      exit(1);
    }
    situ_request request;
    const situ_status status = situ_server_take(server, &request, &error);
    check(status);
    if (status == SITU_EMPTY) continue;
    check_content(&request.sample, sizeof(services_Calculator_divide_In), "services::Calculator_divide_In");
    const services_Calculator_divide_In* asked = request.sample.head;
    // ANCHOR: operation_server
    situ_loan loan;
    check(
        situ_server_loan(server, &request.id, sizeof(services_Calculator_divide_Reply), 8, 0, &loan, &error));
    services_Calculator_divide_Reply_init(loan.head);
    services_Calculator_divide_Result* result = &((services_Calculator_divide_Reply*)loan.head)->reply;
    if (asked->b == 0) {
      result->discriminator = services_Calculator_divide_Result_case_division_by_zero;
      result->value.division_by_zero.numerator = asked->a;
    } else if (asked->a == INT64_MIN) {
      result->discriminator = services_Calculator_divide_Result_case_exhausted;
      services_Exhausted_init(&result->value.exhausted);
    } else {
      result->discriminator = services_Calculator_divide_Result_case_result;
      result->value.result.return_ = asked->a / asked->b;
      result->value.result.remainder = asked->a % asked->b;
    }
    check(situ_reply_send(&loan, 1, 0, &error));
    // ANCHOR_END: operation_server
    situ_request_release(&request);
    --count;
  }
  situ_server_destroy(server);
}

static void call(situ_node* node, const situ_service_type* type) {
  situ_client* client;
  check(situ_client_create(node, "divide", type, NULL, &client, &error));
  if (situ_client_wait_for_server(client, LIMIT_NS, &error) != SITU_OK) {
    fprintf(stderr, "no server came\n");
    exit(1);
  }
  const int64_t asked[3][2] = {{17, 5}, {17, 0}, {INT64_MIN, 1}};
  for (int i = 0; i < 3; ++i) {
    situ_loan loan;
    check(situ_client_loan(client, sizeof(services_Calculator_divide_In), 8, 0, &loan, &error));
    services_Calculator_divide_In* request = loan.head;
    request->a = asked[i][0];
    request->b = asked[i][1];
    uint64_t number;
    check(situ_request_send(&loan, LIMIT_NS, LIMIT_NS, &number, &error));
    situ_reply reply;
    check(situ_client_receive_of(client, number, SITU_FOREVER, &reply, &error));
    check_content(&reply.sample, sizeof(services_Calculator_divide_Reply),
                  "services::Calculator_divide_Reply");
    // ANCHOR: operation_client
    const services_Calculator_divide_Reply* answer = reply.sample.head;
    switch (answer->reply.discriminator) {
      case services_Calculator_divide_Result_case_result:
        printf("%" PRId64 " and %" PRId64 "\n", answer->reply.value.result.return_,
               answer->reply.value.result.remainder);
        break;
      case services_Calculator_divide_Result_case_division_by_zero:
        printf("%" PRId64 " by zero\n", answer->reply.value.division_by_zero.numerator);
        break;
      case services_Calculator_divide_Result_case_exhausted:
        puts("exhausted");
        break;
      default:
        fprintf(stderr, "the reply has neither a result nor an exception\n");
        exit(1);
    }
    situ_sample_release(&reply.sample);
    // ANCHOR_END: operation_client
  }
  situ_client_destroy(client);
}

int main(int words, char** word) {
  if (words < 3) return 2;
  const situ_root root = {word[1], SITU_NO_GROUP, SITU_DEFAULT_DOMAIN};
  situ_node* node;
  check(situ_node_create("c", &root, &node, &error));
  const situ_service_type type = {services_Calculator_divide_In_type(),
                                  services_Calculator_divide_Reply_type()};
  if (strcmp(word[2], "serve") == 0 && words == 4) {
    serve(node, &type, atoi(word[3]));
  } else {
    call(node, &type);
  }
  situ_node_destroy(node);
  return 0;
}
