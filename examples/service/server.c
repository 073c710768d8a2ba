/* Turns four poses around, and refuses those that are nowhere. */
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
  situ_node* node;
  check(situ_node_create("turner", NULL, &node, &error));
  const situ_service_type type = {examples_Pose_type(), examples_Pose_type()};
  situ_server* server;
  check(situ_server_create(node, "turn", &type, NULL, &server, &error));

  for (int served = 0; served < 4;) {
    if (situ_server_wait(server, 10000000000, &error) != SITU_OK) {
      fprintf(stderr, "no request for 10 s\n");
      return 1;
    }
    situ_request request;
    const situ_status status = situ_server_take(server, &request, &error);
    check(status);
    if (status == SITU_EMPTY) continue;
    const examples_Pose* asked = request.sample.head;
    /* The bytes come from another process. A pose of the right size is valid, whatever its numbers are. */
    if (request.sample.encoding != SITU_FLAT || request.sample.head_size != sizeof(*asked)) {
      check(situ_server_refuse(server, &request.id, 2, "that is no pose", &error));
    } else if (!isfinite(asked->x)) {
      check(situ_server_refuse(server, &request.id, 1, "where is that?", &error));
    } else {
      situ_loan loan;
      check(situ_server_loan(server, &request.id, sizeof(*asked), 8, 0, &loan, &error));
      examples_Pose* turned = loan.head;
      *turned = (examples_Pose){.x = -asked->x, .y = -asked->y, .heading = 0};
      check(situ_reply_send(&loan, 1, 0, &error));
    }
    situ_request_release(&request);
    ++served;
  }

  situ_server_destroy(server);
  situ_node_destroy(node);
  return 0;
}
