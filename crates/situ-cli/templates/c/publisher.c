/* Publishes where the robot is, ten times a second, until Ctrl-C. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
  check(situ_node_create("my_robot_publisher", NULL, &node, &error), &error);
  situ_publisher* publisher;
  check(situ_publisher_create(node, "my_robot/pose", my_robot_Pose_type(), NULL, &publisher, &error), &error);
  puts("publishing on my_robot/pose until Ctrl-C");

  for (double angle = 0; !stop; angle += 0.1) {
    /* A pose in shared memory, with default values. */
    situ_loan loan;
    my_robot_Pose* pose;
    check(my_robot_Pose_loan(publisher, &loan, &pose, &error), &error);
    pose->x = cos(angle);
    pose->y = sin(angle);
    pose->heading = angle;
    /* Subscribers receive a reference to it. Nothing is copied. */
    check(situ_loan_publish(&loan, NULL, &error), &error);
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 100000000};
    nanosleep(&pause, NULL);
  }

  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
  puts("done");
  return 0;
}
