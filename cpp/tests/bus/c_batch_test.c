/* Batches in plain C: order, missing room, loans that are gone, mistakes. Exits with 0 on success. */
#include <situ/batch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (!good) {
    fprintf(stderr, "c_batch_test.c:%d: %s\n", line, what);
    failures++;
  }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

enum { ROOM = 16 };

struct numbers {
  uint64_t value;
};

static const situ_type numbers = {"test::Numbers",
                                  "module test {\n  struct Numbers {\n    uint64 value;\n  };\n};\n",
                                  0x12,
                                  0x34,
                                  SITU_FLAT,
                                  0,
                                  0};

static situ_node* node;
static situ_error error;

/* A publisher that fails at once when a reliable subscriber has no room for a fifth message. */
static situ_publisher* publisher_of(const char* topic) {
  situ_publisher* publisher = NULL;
  situ_publisher_qos qos = situ_publisher_qos_default();
  qos.reliability = SITU_RELIABLE;
  qos.depth = 4;
  qos.block_ns = 0;
  CHECK(situ_publisher_create(node, topic, &numbers, &qos, &publisher, &error) == SITU_OK);
  return publisher;
}

static situ_subscriber* subscriber_of(const char* topic) {
  situ_subscriber* subscriber = NULL;
  situ_subscriber_qos qos = situ_subscriber_qos_default();
  qos.reliability = SITU_RELIABLE;
  CHECK(situ_subscriber_create(node, topic, &numbers, &qos, &subscriber, &error) == SITU_OK);
  return subscriber;
}

static void lend(situ_publisher* publisher, situ_loan* loan, uint64_t value) {
  CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, 10, loan, &error) == SITU_OK);
  ((struct numbers*)loan->head)->value = value;
}

static uint64_t value_of(const situ_sample* sample) { return ((const struct numbers*)sample->head)->value; }

/* Publishes `count` numbers from `from` on, and returns how many were published. */
static size_t publish(situ_publisher* publisher, uint64_t from, size_t count) {
  situ_loan loans[ROOM];
  for (size_t i = 0; i < count; ++i) lend(publisher, &loans[i], from + i);
  // ANCHOR: publish
  size_t published;
  if (situ_loan_publish_all(loans, count, &published, NULL, &error) < 0) {
    /* The others were not published, and are still lent. */
    for (size_t i = published; i < count; ++i) situ_loan_discard(&loans[i]);
  }
  // ANCHOR_END: publish
  return published;
}

/* Takes all numbers that are there, and returns their sum. */
static uint64_t take(situ_subscriber* subscriber) {
  uint64_t sum = 0;
  // ANCHOR: take
  situ_sample samples[16];
  size_t taken;
  while (situ_subscriber_take_many(subscriber, 16, samples, &taken, &error) == SITU_OK) {
    for (size_t i = 0; i < taken; ++i) {
      sum += value_of(&samples[i]);
      situ_sample_release(&samples[i]);
    }
  }
  // ANCHOR_END: take
  return sum;
}

static void in_order(void) {
  situ_publisher* publisher = publisher_of("order");
  situ_subscriber* subscriber = subscriber_of("order");
  situ_loan loans[3];
  situ_sample samples[ROOM];
  size_t count = 99;
  uint64_t last = 99;
  CHECK(situ_loan_publish_all(NULL, 0, &count, &last, &error) == SITU_OK && count == 0 && last == 99);
  CHECK(situ_subscriber_take_many(subscriber, ROOM, samples, &count, &error) == SITU_EMPTY && count == 0);
  for (uint64_t i = 0; i < 3; ++i) lend(publisher, &loans[i], 10 * i);
  loans[1].body_size = 4;
  CHECK(situ_loan_publish_all(loans, 3, &count, &last, &error) == SITU_OK && count == 3 && last == 2);
  CHECK(loans[0].head == NULL && loans[2].head == NULL);
  count = 99;
  CHECK(situ_subscriber_take_many(subscriber, 0, NULL, &count, &error) == SITU_EMPTY && count == 0);
  CHECK(situ_subscriber_take_many(subscriber, 2, samples, &count, &error) == SITU_OK && count == 2);
  CHECK(situ_subscriber_take_many(subscriber, ROOM, &samples[2], NULL, &error) == SITU_OK);
  for (uint64_t i = 0; i < 3; ++i) {
    CHECK(value_of(&samples[i]) == 10 * i && samples[i].sequence == i);
    CHECK(samples[i].body_size == (i == 1 ? 4 : 10));
    CHECK(samples[i].published_at_ns == samples[0].published_at_ns);
    situ_sample_release(&samples[i]);
  }
  situ_publisher_destroy(publisher);
  situ_subscriber_destroy(subscriber);
}

/* A subscriber without room ends the batch. The rest stays lent, and is published later. */
static void without_room(void) {
  situ_publisher* publisher = publisher_of("room");
  situ_subscriber* subscriber = subscriber_of("room");
  situ_loan loans[10];
  size_t count = 99;
  uint64_t last = 99;
  for (uint64_t i = 0; i < 10; ++i) lend(publisher, &loans[i], i);
  CHECK(situ_loan_publish_all(loans, 10, &count, &last, &error) == SITU_ERROR_FULL);
  CHECK(count == 4 && last == 3 && error.status == SITU_ERROR_FULL);
  CHECK(loans[3].head == NULL && ((struct numbers*)loans[4].head)->value == 4);
  CHECK(situ_loan_publish_all(&loans[4], 6, &count, &last, &error) == SITU_ERROR_FULL);
  CHECK(count == 0 && last == 3);
  CHECK(take(subscriber) == 0 + 1 + 2 + 3);
  CHECK(situ_loan_publish_all(&loans[4], 3, &count, &last, &error) == SITU_OK && count == 3 && last == 6);
  for (size_t i = 7; i < 10; ++i) situ_loan_discard(&loans[i]);
  CHECK(take(subscriber) == 4 + 5 + 6);
  CHECK(publish(publisher, 100, 6) == 4);
  CHECK(take(subscriber) == 100 + 101 + 102 + 103);
  situ_publisher_destroy(publisher);
  situ_subscriber_destroy(subscriber);
}

/* One loan that cannot be published: nothing is published, and all others stay lent. */
static void mistakes(void) {
  situ_publisher* publisher = publisher_of("mistakes");
  situ_subscriber* subscriber = subscriber_of("mistakes");
  situ_loan loans[3];
  size_t count = 99;
  for (uint64_t i = 0; i < 3; ++i) lend(publisher, &loans[i], i);
  CHECK(situ_loan_publish_all(NULL, 3, &count, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT && count == 0);
  loans[2].body_size = 11;
  CHECK(situ_loan_publish_all(loans, 3, NULL, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strcmp(error.text, "`loans[2].body_size` is 11, but only 10 bytes were lent") == 0);
  loans[2].body_size = 10;
  loans[1].encoding = 77;
  CHECK(situ_loan_publish_all(loans, 3, NULL, NULL, NULL) == SITU_ERROR_INVALID_ARGUMENT);
  loans[1].encoding = SITU_FLAT;
  situ_loan_discard(&loans[1]);
  CHECK(situ_loan_publish_all(loans, 3, NULL, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(error.text, "`loans[1]` holds no loan") != NULL);
  CHECK(situ_subscriber_wait(subscriber, 0, &error) == SITU_EMPTY);
  CHECK(situ_loan_publish_all(loans, 1, NULL, NULL, &error) == SITU_OK);
  CHECK(situ_loan_publish_all(&loans[2], 1, NULL, NULL, &error) == SITU_OK);
  situ_sample samples[2];
  CHECK(situ_subscriber_take_many(NULL, 2, samples, &count, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(count == 0);
  CHECK(situ_subscriber_take_many(subscriber, 2, NULL, &count, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_subscriber_take_each(subscriber, 2, NULL, NULL, &count, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(take(subscriber) == 0 + 2);
  situ_publisher_destroy(publisher);
  situ_subscriber_destroy(subscriber);
}

/* Loans of several publishers; and a publisher that was destroyed while it had loans. */
static void several_publishers(void) {
  situ_publisher* one = publisher_of("several");
  situ_publisher* other = publisher_of("several");
  situ_subscriber* subscriber = subscriber_of("several");
  situ_loan loans[4];
  size_t count = 0;
  for (uint64_t i = 0; i < 4; ++i) lend(i % 2 == 0 ? one : other, &loans[i], i);
  situ_publisher_destroy(one);
  situ_publisher_destroy(other);
  CHECK(situ_loan_publish_all(loans, 4, &count, NULL, &error) == SITU_OK && count == 4);
  CHECK(take(subscriber) == 0 + 1 + 2 + 3);
  situ_subscriber_destroy(subscriber);
}

struct sum {
  uint64_t sum, stop_at;
};

static uint32_t add(situ_sample* sample, void* context) {
  struct sum* sum = context;
  sum->sum += value_of(sample);
  return value_of(sample) == sum->stop_at ? 0 : 1;
}

/* A function stops at a message; the next call continues behind it. */
static void one_by_one(void) {
  situ_publisher* publisher = publisher_of("each");
  situ_subscriber* subscriber = subscriber_of("each");
  struct sum sum = {0, 11};
  size_t count = 99;
  CHECK(situ_subscriber_take_each(subscriber, 9, &add, &sum, &count, &error) == SITU_EMPTY && count == 0);
  CHECK(publish(publisher, 10, 4) == 4);
  CHECK(situ_subscriber_take_each(subscriber, 9, &add, &sum, &count, &error) == SITU_OK);
  CHECK(count == 2 && sum.sum == 10 + 11);
  CHECK(situ_subscriber_take_each(subscriber, 1, &add, &sum, &count, &error) == SITU_OK && count == 1);
  CHECK(situ_subscriber_take_each(subscriber, 9, &add, &sum, NULL, &error) == SITU_OK);
  CHECK(sum.sum == 10 + 11 + 12 + 13);
  /* All were released: the slots are free again. */
  for (uint64_t round = 0; round < 100; ++round) {
    CHECK(publish(publisher, round, 4) == 4);
    CHECK(take(subscriber) == 4 * round + 6);
  }
  CHECK(situ_publisher_get_statistics(publisher).slots_in_use < 20);
  situ_publisher_destroy(publisher);
  situ_subscriber_destroy(subscriber);
}

int main(void) {
  char path[64], command[512];
  snprintf(path, sizeof path, "/dev/shm/situ-test-c-batch-%ld", (long)getpid());
  const situ_root root = {path, SITU_NO_GROUP, SITU_DEFAULT_DOMAIN};
  CHECK(situ_node_create("c", &root, &node, &error) == SITU_OK);
  in_order();
  without_room();
  mistakes();
  several_publishers();
  one_by_one();
  situ_node_destroy(node);
  /* The control file of traces stays; apart from it only empty directories remain. */
  snprintf(command, sizeof command, "rm %s/trace/control && rmdir %s/trace %s/nodes %s/topics %s", path, path,
           path, path, path);
  CHECK(system(command) == 0);
  return failures == 0 ? 0 : 1;
}
