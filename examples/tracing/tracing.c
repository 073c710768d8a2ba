/* A program that says what it does: slices, a moment, a counter, an arrow, and a message of its log, beside
 * what the bus says by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "messages.h"

static situ_error error;

static situ_trace_category planner = SITU_TRACE_CATEGORY("planner");
static situ_trace_counter far_away = SITU_TRACE_COUNTER(&planner, "far", 0);
/* A name may be that of an event and of an argument, as this one is. */
static situ_trace_name step_name = SITU_TRACE_NAME("step");
static situ_trace_name turn_name = SITU_TRACE_NAME("turn");
static situ_trace_name reason_name = SITU_TRACE_NAME("reason");

/* Ends the program with the library's own words, unless all went well. */
static void check(situ_status status) {
  if (status < 0) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
}

/* Whether a pose is far away. */
static int think(const examples_Pose* at) {
  if (at->x > 7.0 && SITU_TRACE_IS_ENABLED(&planner)) {
    const char* reason = "the end of the road";
    const situ_trace_argument argument = {
        .name = &reason_name, .value.as_text = reason, .length = strlen(reason), .kind = SITU_TRACE_TEXT};
    const situ_trace_event event = {
        .category = &planner, .name = &turn_name, .arguments = &argument, .argument_count = 1};
    situ_trace_write(SITU_TRACE_KIND_INSTANT, &event);
    char text[64];
    const int length = snprintf(text, sizeof(text), "the road ends at %.0f", at->x);
    const situ_trace_log_message message = {.text = text,
                                            .length = (size_t)length,
                                            .file = __FILE__,
                                            .file_length = strlen(__FILE__),
                                            .line = __LINE__,
                                            .severity = SITU_TRACE_SEVERITY_WARN};
    situ_trace_log(NULL, &message);
  }
  return at->x * 2.0 > 10.0;
}

/* Publishes a pose, takes it, and thinks about it. */
static int go(situ_publisher* publisher, situ_subscriber* subscriber, int step) {
  situ_loan loan;
  examples_Pose* pose;
  check(examples_Pose_loan(publisher, &loan, &pose, &error));
  pose->x = step;
  uint64_t number;
  check(situ_loan_publish(&loan, &number, &error));
  check(situ_subscriber_wait(subscriber, 10000000000, &error));
  situ_sample sample;
  const situ_status status = situ_subscriber_take(subscriber, &sample, &error);
  check(status);
  if (status == SITU_EMPTY) return 0;
  const int far = think(sample.head);
  situ_sample_release(&sample);
  return far;
}

int main(void) {
  situ_node* node;
  check(situ_node_create("tracing", NULL, &node, &error));
  situ_publisher_qos publishing = situ_publisher_qos_default();
  publishing.reliability = SITU_RELIABLE;
  situ_publisher* publisher;
  check(situ_publisher_create(node, "tracing/poses", examples_Pose_type(), &publishing, &publisher, &error));
  situ_subscriber_qos taking = situ_subscriber_qos_default();
  taking.reliability = SITU_RELIABLE;
  situ_subscriber* subscriber;
  check(situ_subscriber_create(node, "tracing/poses", examples_Pose_type(), &taking, &subscriber, &error));

  int far = 0;
  for (int step = 0; step < 10; ++step) {
    /* All of a step belongs together: an arrow leads from the one slice to the other. */
    const int traced = SITU_TRACE_IS_ENABLED(&planner);
    if (traced) {
      const uint64_t flow = 1;
      const situ_trace_argument argument = {.name = &step_name, .value.as_int = step, .kind = SITU_TRACE_INT};
      const situ_trace_event event = {.category = &planner,
                                      .name = &step_name,
                                      .flows = &flow,
                                      .flow_count = 1,
                                      .arguments = &argument,
                                      .argument_count = 1};
      situ_trace_write(SITU_TRACE_KIND_BEGIN, &event);
    }
    far += go(publisher, subscriber, step);
    situ_trace_count(&far_away, far);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    if (traced) situ_trace_end();
  }
  printf("%d of 10 poses were far away\n", far);

  situ_subscriber_destroy(subscriber);
  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
  return 0;
}
