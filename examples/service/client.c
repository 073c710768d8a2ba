/* Has three poses turned around at once, and one that is nowhere. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "messages.h"
#include "situ/service.h"

static situ_error error;

/* Ends the program with the library's own words, unless all went well. */
static void check(situ_status status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
}

int main(void) {
  const uint64_t limit_ns = 10000000000;
  situ_node* node;
  check(situ_node_create("turning", NULL, &node, &error));
  const situ_service_type type = {examples_Pose_type(), examples_Pose_type()};
  situ_client* client;
  check(situ_client_create(node, "turn", &type, NULL, &client, &error));
  if (situ_client_wait_for_server(client, limit_ns, &error) != SITU_OK) {
    fprintf(stderr, "no server for 10 s\n");
    return 1;
  }

  // ANCHOR: calls
  const double places[4] = {1, 2, 3, NAN};
  uint64_t calls[4];
  for (int i = 0; i < 4; ++i) {
    situ_loan loan;
    check(situ_client_loan(client, sizeof(examples_Pose), 8, 0, &loan, &error));
    examples_Pose* request = loan.head;
    *request = (examples_Pose){.x = places[i], .y = 0, .heading = 0};
    check(situ_request_send(&loan, limit_ns, limit_ns, &calls[i], &error));
  }
  for (int i = 0; i < 4; ++i) {
    situ_reply reply;
    const situ_status status = situ_client_receive_of(client, calls[i], SITU_FOREVER, &reply, &error);
    if (status == SITU_ERROR_REFUSED) {
      printf("refused: %s (%" PRIu64 ")\n", reply.text, reply.code);
      continue;
    }
    check(status);
    const examples_Pose* turned = reply.sample.head;
    if (reply.sample.encoding != SITU_FLAT || reply.sample.head_size != sizeof(*turned)) {
      fprintf(stderr, "the reply is no pose\n");
      return 1;
    }
    printf("turned: x = %g\n", turned->x);
    situ_sample_release(&reply.sample);
  }
  // ANCHOR_END: calls

  situ_client_destroy(client);
  situ_node_destroy(node);
  return 0;
}
