/* Prints where the robot is, until Ctrl-C. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "messages.h"

static volatile sig_atomic_t stop = 0;

static void on_signal(int number) {
  (void)number;
  stop = 1;
}

/* Ends the program with the library's sentence after an error. */
static void check(situ_status status, const situ_error* error) {
  if (status < 0) {
    fprintf(stderr, "%s\n", error->text);
    exit(1);
  }
}

int main(void) {
  signal(SIGINT, on_signal);

  situ_error error;
  situ_node* node;
  check(situ_node_create("my_robot_subscriber", NULL, &node, &error), &error);
  situ_subscriber* subscriber;
  check(situ_subscriber_create(node, "my_robot/pose", my_robot_Pose_type(), NULL, &subscriber, &error),
        &error);
  puts("waiting for my_robot/pose until Ctrl-C");

  while (!stop) {
    /* Waits for the next pose, but looks at `stop` five times a second. */
    check(situ_subscriber_wait(subscriber, 200000000, &error), &error);
    situ_sample sample;
    const my_robot_Pose* pose;
    const situ_status status = my_robot_Pose_take(subscriber, &sample, &pose, &error);
    check(status, &error);
    if (status == SITU_EMPTY) continue;
    /* The pose lies in the memory where its publisher wrote it, until the sample is released. */
    printf("pose %" PRIu64 ": x = %.3f, y = %.3f, heading = %.3f\n", sample.sequence, pose->x, pose->y,
           pose->heading);
    fflush(stdout);
    situ_sample_release(&sample);
  }

  situ_subscriber_destroy(subscriber);
  situ_node_destroy(node);
  puts("done");
  return 0;
}
