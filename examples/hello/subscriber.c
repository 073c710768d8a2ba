/* Takes ten poses and reads each where it lies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "messages.h"

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
  check(situ_node_create("hello_subscriber", NULL, &node, &error));
  situ_subscriber_qos qos = situ_subscriber_qos_default();
  qos.reliability = SITU_RELIABLE;
  situ_subscriber* subscriber;
  check(situ_subscriber_create(node, "hello", examples_Pose_type(), &qos, &subscriber, &error));

  for (int taken = 0; taken < 10;) {
    if (situ_subscriber_wait(subscriber, 10000000000, &error) != SITU_OK) {
      fprintf(stderr, "no pose for 10 s\n");
      return 1;
    }
    situ_sample sample;
    const examples_Pose* pose;
    const situ_status status = examples_Pose_take(subscriber, &sample, &pose, &error);
    check(status);
    if (status == SITU_EMPTY) continue;
    printf("pose %" PRIu64 ": x = %g, y = %g, heading = %g\n", sample.sequence, pose->x, pose->y,
           pose->heading);
    situ_sample_release(&sample);
    ++taken;
  }

  situ_subscriber_destroy(subscriber);
  situ_node_destroy(node);
  return 0;
}
