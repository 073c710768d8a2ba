/* Publishes ten poses, each built where it will be read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "messages.h"

static situ_error error;

/* Ends the program with the library's own words, unless all went well. */
static void check(situ_status status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
}

static void sleep_ms(long ms) {
  const struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000};
  nanosleep(&time, NULL);
}

int main(void) {
  situ_node* node;
  check(situ_node_create("hello_publisher", NULL, &node, &error));
  situ_publisher_qos qos = situ_publisher_qos_default();
  qos.reliability = SITU_RELIABLE;
  situ_publisher* publisher;
  check(situ_publisher_create(node, "hello", examples_Pose_type(), &qos, &publisher, &error));

  while (situ_publisher_get_statistics(publisher).subscribers == 0) sleep_ms(10);
  for (int step = 0; step < 10; ++step) {
    situ_loan loan;
    examples_Pose* pose;
    check(examples_Pose_loan(publisher, &loan, &pose, &error));
    pose->x = step;
    pose->heading = 0.5;
    uint64_t number;
    check(situ_loan_publish(&loan, &number, &error));
    printf("published pose %" PRIu64 "\n", number);
    sleep_ms(20);
  }

  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
  return 0;
}
