/* The bus in plain C: typical use, and the library's answers to mistakes. Exits with 0 on success. */
#include <dirent.h>
#include <situ.h>
#include <situ/execute.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (!good) {
    fprintf(stderr, "c_test.c:%d: %s\n", line, what);
    failures++;
  }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

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

static void count_topic(const situ_topic_info* topic, void* context) {
  CHECK(strcmp(topic->name, "numbers") == 0);
  ++*(int*)context;
}

static void count_node(const situ_node_info* node, void* context) {
  CHECK(node->alive == 1);
  ++*(int*)context;
}

static void publish_and_take(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_publisher* publisher = NULL;
  situ_subscriber* subscriber = NULL;
  CHECK(situ_node_create("c", root, &node, &error) == SITU_OK);
  CHECK(situ_publisher_create(node, "numbers", &numbers, NULL, &publisher, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "numbers", &numbers, NULL, &subscriber, &error) == SITU_OK);
  CHECK(strcmp(situ_node_name(node), "c") == 0);

  situ_sample sample;
  CHECK(situ_subscriber_take(subscriber, &sample, &error) == SITU_EMPTY);
  CHECK(situ_subscriber_wait(subscriber, 1000, &error) == SITU_EMPTY);

  situ_loan loan;
  CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, 100, &loan, &error) == SITU_OK);
  CHECK(loan.head_size == 8 && loan.body_size == 100 && loan.encoding == SITU_FLAT);
  ((struct numbers*)loan.head)->value = 4711;
  memset(loan.body, 7, 100);
  loan.body_size = 10;
  uint64_t sequence = 99;
  CHECK(situ_loan_publish(&loan, &sequence, &error) == SITU_OK);
  CHECK(sequence == 0 && loan.head == NULL);

  CHECK(situ_subscriber_wait(subscriber, SITU_FOREVER, &error) == SITU_OK);
  CHECK(situ_subscriber_take(subscriber, &sample, &error) == SITU_OK);
  CHECK(((const struct numbers*)sample.head)->value == 4711);
  CHECK(sample.body_size == 10 && ((const unsigned char*)sample.body)[9] == 7);
  CHECK(sample.sequence == 0 && sample.encoding == SITU_FLAT && sample.publisher == situ_node_id(node));
  CHECK(sample.published_at_ns > 0 && sample.published_at_ns <= situ_now_ns());

  int topics = 0, nodes = 0;
  CHECK(situ_list_topics(root, count_topic, &topics, &error) == SITU_OK && topics == 1);
  CHECK(situ_list_nodes(root, count_node, &nodes, &error) == SITU_OK && nodes == 1);
  size_t removed = 99, removed_topics = 99;
  CHECK(situ_clean(root, &removed, &removed_topics, &error) == SITU_OK && removed == 0 &&
        removed_topics == 0);

  /* In the wrong order on purpose: each handle keeps the objects alive that it needs. */
  situ_node_destroy(node);
  CHECK(situ_publisher_loan(publisher, 8, 8, 0, &loan, &error) == SITU_OK);
  situ_publisher_destroy(publisher);
  situ_loan_discard(&loan);
  situ_loan_discard(&loan);
  situ_subscriber_destroy(subscriber);
  CHECK(((const struct numbers*)sample.head)->value == 4711);
  situ_sample_release(&sample);
  situ_sample_release(&sample);
  CHECK(sample.head == NULL && sample.sequence == 0);
}

/* A body that grows in place: an older pointer into it writes to the loan, not to a published message. */
static void growing(const situ_root* root) {
  enum { FIRST = 1000, LAST = 5000000 };
  situ_error error;
  situ_node* node = NULL;
  situ_publisher *publisher = NULL, *flat = NULL;
  situ_subscriber* subscriber = NULL;
  situ_type region = numbers;
  region.encoding = SITU_REGION;
  CHECK(situ_node_create("c", root, &node, &error) == SITU_OK);
  CHECK(situ_publisher_create(node, "grows", &region, NULL, &publisher, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "grows", &region, NULL, &subscriber, &error) == SITU_OK);

  situ_loan loan, other;
  situ_sample before, after;
  CHECK(situ_publisher_loan_growing(publisher, FIRST, 0, &loan, &error) == SITU_OK);
  CHECK(loan.body_size == FIRST && loan.encoding == SITU_REGION);
  unsigned char* const stale = loan.body;
  memset(stale, 1, FIRST);
  CHECK(situ_loan_grow(&loan, LAST, &error) == SITU_OK);
  CHECK(loan.body == stale && loan.body_size == LAST);
  /* This message has the loan's old size. It does not lie at the pointer. */
  CHECK(situ_publisher_loan_growing(publisher, FIRST, 0, &other, &error) == SITU_OK);
  memset(other.body, 2, FIRST);
  CHECK(situ_loan_publish(&other, NULL, &error) == SITU_OK);
  CHECK(situ_subscriber_take(subscriber, &before, &error) == SITU_OK && before.body_size == FIRST);
  stale[10] = 66;
  for (size_t i = 0; i < FIRST; ++i) CHECK(((const unsigned char*)before.body)[i] == 2);
  memset(stale + FIRST, 3, LAST - FIRST);
  CHECK(situ_loan_grow(&loan, (size_t)1 << 40, &error) != SITU_OK && loan.body_size == LAST);
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_OK);
  CHECK(situ_subscriber_take(subscriber, &after, &error) == SITU_OK && after.body_size == LAST);
  CHECK(((const unsigned char*)after.body)[9] == 1 && ((const unsigned char*)after.body)[10] == 66);
  CHECK(((const unsigned char*)after.body)[LAST - 1] == 3);
  situ_sample_release(&before);
  situ_sample_release(&after);

  /* Other loans do not grow, and return an error. */
  CHECK(situ_publisher_create(node, "flat", &numbers, NULL, &flat, &error) == SITU_OK);
  CHECK(situ_publisher_loan(flat, sizeof(struct numbers), 8, 10, &loan, &error) == SITU_OK);
  CHECK(situ_loan_grow(&loan, 10, &error) == SITU_OK);
  CHECK(situ_loan_grow(&loan, 1000000, &error) == SITU_ERROR_NO_MEMORY && loan.body_size == 10);
  situ_loan_discard(&loan);
  CHECK(situ_loan_grow(&loan, 10, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_publisher_destroy(flat);
  situ_publisher_destroy(publisher);
  situ_subscriber_destroy(subscriber);
  situ_node_destroy(node);
}

/* On a device: streams write and read messages, which are published before they are complete and copied once
 * for the host. */
static void domains(const situ_root* root) {
  enum { SIZE = 100000 };
  static unsigned char written[SIZE], read[SIZE];
  situ_error error;
  situ_node* node = NULL;
  situ_publisher* publisher = NULL;
  situ_subscriber *on_device = NULL, *on_host = NULL;
  situ_stream* stream = NULL;
  const situ_placement device = {"emulated:0", 0, 0, SITU_RING, 0};
  CHECK(situ_node_create("c", root, &node, &error) == SITU_OK);
  CHECK(situ_publisher_create_in(node, "image", &numbers, NULL, &device, &publisher, &error) == SITU_OK);
  CHECK(situ_subscriber_create_in(node, "image", &numbers, NULL, &device, &on_device, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "image", &numbers, NULL, &on_host, &error) == SITU_OK);
  CHECK(situ_stream_create(node, "emulated:0", &stream, &error) == SITU_OK);

  situ_loan loan;
  situ_span span;
  situ_fence fence;
  memset(written, 42, SIZE);
  CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, SIZE, &loan, &error) == SITU_OK);
  CHECK(loan.head != NULL && loan.body == NULL && loan.body_size == SIZE);
  ((struct numbers*)loan.head)->value = 1;
  CHECK(situ_loan_span(&loan, &span, &error) == SITU_OK);
  CHECK(span.size == SIZE && span.address != 0 && span.domain_kind == 1 && span.domain_number == 0);
  CHECK(span.offset + span.size <= span.memory_size);
  CHECK(situ_loan_fence(&loan, &fence, &error) == SITU_OK && fence.word != NULL && *fence.word < fence.value);
  CHECK(situ_stream_write(stream, written, &loan, 1, SIZE, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_stream_write(stream, written, &loan, 0, SIZE, &error) == SITU_OK);
  CHECK(situ_loan_publish_on(&loan, stream, NULL, &error) == SITU_OK);

  situ_sample sample;
  CHECK(situ_subscriber_take(on_device, &sample, &error) == SITU_OK);
  CHECK(((const struct numbers*)sample.head)->value == 1 && sample.body == NULL && sample.body_size == SIZE);
  CHECK(situ_sample_span(&sample, &span, &error) == SITU_OK && span.size == SIZE && span.domain_kind == 1);
  CHECK(situ_sample_fence(&sample, &fence, &error) == SITU_OK && fence.word != NULL);
  CHECK(situ_sample_wait_on(&sample, stream, SITU_FOREVER, &error) == SITU_OK);
  CHECK(situ_stream_read(stream, &sample, 0, read, SIZE, &error) == SITU_OK);
  CHECK(situ_stream_synchronize(stream, SITU_FOREVER, &error) == SITU_OK);
  CHECK(situ_sample_state(&sample) == SITU_COMPLETE);
  CHECK(memcmp(written, read, SIZE) == 0);
  CHECK(situ_sample_release_on(&sample, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_sample_span(&sample, &span, &error) == SITU_OK);
  CHECK(situ_sample_release_on(&sample, stream, &error) == SITU_OK);
  CHECK(situ_sample_release_on(&sample, stream, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_sample_release(&sample);

  CHECK(situ_subscriber_take(on_host, &sample, &error) == SITU_OK);
  CHECK(sample.body_size == SIZE && memcmp(sample.body, written, SIZE) == 0);
  CHECK(situ_sample_fence(&sample, &fence, &error) == SITU_OK && fence.word == NULL);
  CHECK(situ_sample_synchronize(&sample, 0, &error) == SITU_OK);
  situ_sample_release(&sample);
  CHECK(situ_sample_span(&sample, &span, &error) == SITU_ERROR_INVALID_ARGUMENT);

  /* A fence that the caller completes, and a message that lies on the device as a whole. */
  CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, 0, &loan, &error) == SITU_OK);
  CHECK(situ_loan_span_of_message(&loan, &span, &error) == SITU_OK && span.size == sizeof(struct numbers));
  const struct numbers whole = {77};
  CHECK(situ_stream_write(stream, &whole, &loan, 0, sizeof whole, &error) == SITU_OK);
  CHECK(situ_stream_synchronize(stream, SITU_FOREVER, &error) == SITU_OK);
  CHECK(situ_loan_fence(&loan, &fence, &error) == SITU_OK);
  CHECK(situ_loan_publish_signalled(&loan, NULL, &error) == SITU_OK);
  CHECK(situ_subscriber_take(on_device, &sample, &error) == SITU_OK);
  CHECK(situ_sample_state(&sample) == SITU_PENDING);
  CHECK(situ_sample_synchronize(&sample, 1000000, &error) == SITU_EMPTY);
  *fence.word = fence.value;
  CHECK(situ_sample_synchronize(&sample, SITU_FOREVER, &error) == SITU_OK);
  situ_sample_release(&sample);
  CHECK(situ_subscriber_take(on_host, &sample, &error) == SITU_OK);
  CHECK(((const struct numbers*)sample.head)->value == 77);
  situ_sample_release(&sample);

  const situ_placement nonsense = {"gpu", 0, 0, 0, 0};
  situ_publisher* none = NULL;
  CHECK(situ_publisher_create_in(node, "image", &numbers, NULL, &nonsense, &none, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_stream_create(node, "kind2000:0", &stream, &error) == SITU_ERROR_SYSTEM);

  situ_stream_destroy(stream);
  situ_stream_destroy(NULL);
  situ_subscriber_destroy(on_device);
  situ_subscriber_destroy(on_host);
  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
}

static void mistakes(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  CHECK(situ_node_create(NULL, root, &node, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(error.status == SITU_ERROR_INVALID_ARGUMENT && strcmp(error.text, "`name` is NULL") == 0);
  CHECK(situ_node_create("c", root, NULL, NULL) == SITU_ERROR_INVALID_ARGUMENT);
  const char* const evil[] = {"",
                              "a\nb",
                              "\x1b[2J",
                              "\x1b]52;c;aGk=\x07",
                              "\xc2\x9b"
                              "31m",
                              "a\xe2\x80\xae"
                              "b"};
  for (size_t i = 0; i < sizeof evil / sizeof *evil; ++i) {
    CHECK(situ_node_create(evil[i], root, &node, &error) == SITU_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(error.text, "cannot name a node") != NULL && strchr(error.text, 0x1b) == NULL);
  }
  CHECK(situ_node_create("c", root, &node, &error) == SITU_OK);

  situ_publisher* publisher = NULL;
  situ_type type = numbers;
  type.encoding = 9;
  CHECK(situ_publisher_create(node, "numbers", &type, NULL, &publisher, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strcmp(
            error.text,
            "`encoding` is 9; there are SITU_FLAT (1), SITU_XCDR1 (2), SITU_XCDR2 (3) and SITU_REGION (4)") ==
        0);
  situ_publisher_qos qos = situ_publisher_qos_default();
  qos.reliability = 2;
  CHECK(situ_publisher_create(node, "numbers", &numbers, &qos, &publisher, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strcmp(error.text, "`reliability` is 2; there are SITU_BEST_EFFORT (0) and SITU_RELIABLE (1)") == 0);
  CHECK(publisher == NULL);
  qos = situ_publisher_qos_default();
  qos.depth = 100000;
  CHECK(situ_publisher_create(node, "numbers", &numbers, NULL, &publisher, &error) == SITU_OK);
  situ_publisher* deep = NULL;
  CHECK(situ_publisher_create(node, "numbers", &numbers, &qos, &deep, &error) == SITU_ERROR_NO_PLACE);

  situ_loan loan;
  CHECK(situ_publisher_loan(publisher, 8, 128, 0, &loan, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_loan(publisher, 8, 8, SIZE_MAX - 8, &loan, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_loan(publisher, 8, 8, (size_t)1 << 50, &loan, &error) == SITU_ERROR_NO_MEMORY);
  CHECK(situ_publisher_loan(NULL, 8, 8, 0, &loan, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_loan(publisher, 8, 8, 16, &loan, &error) == SITU_OK);
  loan.body_size = 17;
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strcmp(error.text, "`loan->body_size` is 17, but only 16 bytes were lent") == 0);
  loan.encoding = 0;
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  loan.encoding = SITU_FLAT;
  CHECK(loan.head != NULL && loan.body_size == 16);
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_OK);
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  memset(&loan, 0, sizeof loan);
  CHECK(situ_loan_publish(&loan, NULL, NULL) == SITU_ERROR_INVALID_ARGUMENT);

  CHECK(situ_publisher_trim(NULL) == 0);
  CHECK(situ_publisher_loan(publisher, 8, 8, 1 << 20, &loan, &error) == SITU_OK);
  situ_loan_discard(&loan);
  CHECK(situ_publisher_trim(publisher) >= 1 << 20);
  CHECK(situ_publisher_trim(publisher) == 0);

  size_t index = 0;
  CHECK(situ_wait_any(NULL, 1, 0, &index, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_list_topics(root, NULL, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_sample sample;
  CHECK(situ_subscriber_take(NULL, &sample, &error) == SITU_ERROR_INVALID_ARGUMENT);

  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
  situ_node_destroy(NULL);
  situ_publisher_destroy(NULL);
  situ_subscriber_destroy(NULL);
  situ_sample_release(NULL);
  situ_loan_discard(NULL);
}

/* A child's copies of handles do nothing. Handles that the child creates work. */
static void forks(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_publisher* publisher = NULL;
  situ_subscriber* subscriber = NULL;
  CHECK(situ_node_create("parent", root, &node, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "numbers", &numbers, NULL, &subscriber, &error) == SITU_OK);
  CHECK(situ_publisher_create(node, "numbers", &numbers, NULL, &publisher, &error) == SITU_OK);
  situ_loan loan, lent;
  situ_sample sample;
  CHECK(situ_publisher_loan(publisher, 8, 8, 0, &loan, &error) == SITU_OK);
  *(uint64_t*)loan.head = 5;
  CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_OK);
  CHECK(situ_subscriber_take(subscriber, &sample, &error) == SITU_OK);
  CHECK(situ_publisher_loan(publisher, 8, 8, 0, &lent, &error) == SITU_OK);
  *(uint64_t*)lent.head = 6;
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    size_t index = 0;
    int fd = -1;
    situ_sample taken;
    CHECK(situ_subscriber_take(subscriber, &taken, &error) == SITU_ERROR_FORKED);
    CHECK(strstr(error.text, "numbers") != NULL && strstr(error.text, "forked") != NULL);
    CHECK(situ_subscriber_wait(subscriber, SITU_FOREVER, &error) == SITU_ERROR_FORKED);
    CHECK(situ_wait_any(&subscriber, 1, SITU_FOREVER, &index, &error) == SITU_ERROR_FORKED);
    CHECK(situ_subscriber_fd(subscriber, &fd, &error) == SITU_ERROR_FORKED);
    *(uint64_t*)lent.head = 7;
    CHECK(situ_loan_publish(&lent, NULL, &error) == SITU_ERROR_FORKED);
    CHECK(situ_publisher_loan(publisher, 8, 8, 0, &loan, &error) == SITU_ERROR_FORKED);
    situ_publisher* other = NULL;
    CHECK(situ_publisher_create(node, "numbers", &numbers, NULL, &other, &error) == SITU_ERROR_FORKED);
    CHECK(*(const uint64_t*)sample.head == 0);
    situ_loan_discard(&lent);
    situ_sample_release(&sample);
    situ_subscriber_destroy(subscriber);
    situ_publisher_destroy(publisher);
    situ_node_destroy(node);
    CHECK(situ_node_create("child", root, &node, &error) == SITU_OK);
    CHECK(situ_publisher_create(node, "numbers", &numbers, NULL, &publisher, &error) == SITU_OK);
    situ_publisher_destroy(publisher);
    situ_node_destroy(node);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(*(const uint64_t*)sample.head == 5);
  CHECK(situ_loan_publish(&lent, NULL, &error) == SITU_OK);
  situ_sample next;
  CHECK(situ_subscriber_take(subscriber, &next, &error) == SITU_OK);
  CHECK(*(const uint64_t*)next.head == 6);
  situ_sample_release(&next);
  situ_sample_release(&sample);
  situ_subscriber_destroy(subscriber);
  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
}

/* An interrupter ends waits, and after a reset they wait again. */
static void interrupts(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_subscriber* subscriber = NULL;
  situ_interrupter* stop = NULL;
  size_t index = 0;
  CHECK(situ_node_create("n", root, &node, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "numbers", &numbers, NULL, &subscriber, &error) == SITU_OK);
  CHECK(situ_interrupter_create(&stop, &error) == SITU_OK);
  situ_waiting how = {SITU_FOREVER, stop, 0};
  situ_interrupter_interrupt(stop);
  CHECK(situ_interrupter_is_interrupted(stop) != 0);
  CHECK(situ_subscriber_wait_with(subscriber, &how, &error) == SITU_ERROR_INTERRUPTED);
  CHECK(situ_wait_any_with(&subscriber, 1, &how, &index, &error) == SITU_ERROR_INTERRUPTED);
  situ_interrupter_reset(stop);
  how.timeout_ns = 1000;
  CHECK(situ_subscriber_wait_with(subscriber, &how, &error) == SITU_EMPTY);
  CHECK(situ_wait_any_with(&subscriber, 1, &how, &index, &error) == SITU_EMPTY);
  CHECK(situ_subscriber_wait_with(subscriber, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_interrupter_destroy(stop);
  situ_interrupter_destroy(NULL);
  situ_subscriber_destroy(subscriber);
  situ_node_destroy(node);
}

struct waits {
  uint64_t publisher;
  uint64_t subscriber;
  int count;
};

static void note_wait(const situ_wait_info* wait, void* context) {
  struct waits* found = context;
  CHECK(strcmp(wait->topic, "numbers") == 0 && wait->waited_ns < UINT64_C(60000000000));
  found->publisher = wait->publisher;
  found->subscriber = wait->subscriber;
  found->count++;
}

/* Lists a publisher without room in another process, with the node that it waits for. */
static void lists_waits(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_subscriber* subscriber = NULL;
  situ_subscriber_qos wants = situ_subscriber_qos_default();
  wants.reliability = SITU_RELIABLE;
  CHECK(situ_node_create("behind", root, &node, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "numbers", &numbers, &wants, &subscriber, &error) == SITU_OK);
  struct waits found = {0, 0, 0};
  CHECK(situ_list_waits(root, note_wait, &found, &error) == SITU_OK && found.count == 0);
  CHECK(situ_list_waits(root, NULL, &found, &error) == SITU_ERROR_INVALID_ARGUMENT);
  const pid_t child = fork();
  if (child == 0) {
    situ_node* own = NULL;
    situ_publisher* publisher = NULL;
    situ_publisher_qos offers = situ_publisher_qos_default();
    offers.reliability = SITU_RELIABLE;
    offers.depth = 1;
    offers.block_ns = UINT64_C(60000000000);
    CHECK(situ_node_create("waits", root, &own, &error) == SITU_OK);
    CHECK(situ_publisher_create(own, "numbers", &numbers, &offers, &publisher, &error) == SITU_OK);
    for (int i = 0; i < 2; ++i) {
      situ_loan loan;
      CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, 0, &loan, &error) == SITU_OK);
      CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_OK);
    }
    situ_publisher_destroy(publisher);
    situ_node_destroy(own);
    _exit(failures == 0 ? 0 : 1);
  }
  const struct timespec moment = {0, 1000000};
  for (int tries = 0; tries < 20000 && found.count == 0; ++tries) {
    CHECK(situ_list_waits(root, note_wait, &found, &error) == SITU_OK);
    nanosleep(&moment, NULL);
  }
  CHECK(found.count == 1 && found.subscriber == situ_node_id(node));
  CHECK(found.publisher != 0 && found.publisher != found.subscriber);
  situ_sample sample;
  CHECK(situ_subscriber_take(subscriber, &sample, &error) == SITU_OK);
  situ_sample_release(&sample);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  found.count = 0;
  CHECK(situ_list_waits(root, note_wait, &found, &error) == SITU_OK && found.count == 0);
  situ_subscriber_destroy(subscriber);
  situ_node_destroy(node);
}

/* Applies `change` to each file below a directory whose name has this ending. */
static void each_file(const char* directory, const char* ending, int (*change)(const char* path)) {
  DIR* all = opendir(directory);
  CHECK(all != NULL);
  for (struct dirent* entry; all != NULL && (entry = readdir(all)) != NULL;) {
    char path[512];
    struct stat found;
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%.200s", directory, entry->d_name);
    if (stat(path, &found) != 0) continue;
    const size_t length = strlen(path), end = strlen(ending);
    if (S_ISDIR(found.st_mode)) {
      each_file(path, ending, change);
    } else if (length >= end && strcmp(path + length - end, ending) == 0) {
      CHECK(change(path) == 0);
    }
  }
  if (all != NULL) closedir(all);
}

static int empty(const char* path) { return truncate(path, 0); }

/* With the guard, a process survives when the files that it uses lose their contents, and gets errors. */
static void survives(const situ_root* root) {
  situ_error error;
  const pid_t child = fork();
  if (child == 0) {
    situ_node* node = NULL;
    situ_publisher* publisher = NULL;
    situ_subscriber* subscriber = NULL;
    situ_sample sample, next;
    CHECK(situ_guard_install(&error) == SITU_OK);
    CHECK(situ_guard_install(NULL) == SITU_OK);
    CHECK(situ_node_create("guarded", root, &node, &error) == SITU_OK);
    CHECK(situ_publisher_create(node, "shortened", &numbers, NULL, &publisher, &error) == SITU_OK);
    CHECK(situ_subscriber_create(node, "shortened", &numbers, NULL, &subscriber, &error) == SITU_OK);
    for (uint64_t value = 5; value < 7; ++value) {
      situ_loan loan;
      CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, 0, &loan, &error) == SITU_OK);
      ((struct numbers*)loan.head)->value = value;
      CHECK(situ_loan_publish(&loan, NULL, &error) == SITU_OK);
    }
    CHECK(situ_subscriber_take(subscriber, &sample, &error) == SITU_OK);
    each_file(root->path, ".data", empty);
    CHECK(((const volatile struct numbers*)sample.head)->value == 0);
    CHECK(situ_subscriber_take(subscriber, &next, &error) == SITU_ERROR_MALFORMED);
    CHECK(strstr(error.text, ".data") != NULL);
    each_file(root->path, "/topic", empty);
    situ_subscriber_take(subscriber, &next, &error);
    CHECK(situ_subscriber_take(subscriber, &next, &error) == SITU_ERROR_REMOVED);
    CHECK(strcmp(situ_status_name(error.status), "SITU_ERROR_REMOVED") == 0);
    situ_sample_release(&sample);
    situ_subscriber_destroy(subscriber);
    situ_publisher_destroy(publisher);
    situ_node_destroy(node);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  /* The node of an emptied file cannot be recognized. */
  char command[512];
  snprintf(command, sizeof command, "rm -rf %s/topics/* %s/nodes/*", root->path, root->path);
  CHECK(system(command) == 0);
}

/* What the callbacks of the test below tell. */
struct ran {
  situ_executor* executor;
  situ_subscriber* subscriber;
  uint64_t value;
  int timers;
  int released;
};

static situ_status on_message(void* context, uint32_t io, situ_error* error) {
  struct ran* ran = context;
  situ_sample sample;
  const situ_status status = situ_subscriber_take(ran->subscriber, &sample, error);
  CHECK(io == SITU_READABLE);
  if (status != SITU_OK) return status;
  ran->value = ((const struct numbers*)sample.head)->value;
  situ_sample_release(&sample);
  return SITU_OK;
}

static situ_status on_timer(void* context, uint32_t io, situ_error* error) {
  struct ran* ran = context;
  (void)io;
  (void)error;
  ran->timers++;
  situ_executor_stop(ran->executor);
  return SITU_OK;
}

static situ_status on_failure(void* context, uint32_t io, situ_error* error) {
  (void)context;
  (void)io;
  error->status = SITU_ERROR_FULL;
  strcpy(error->text, "no room");
  return SITU_ERROR_FULL;
}

static void on_release(void* context) { ((struct ran*)context)->released++; }

static int32_t go_on(void* context, uint64_t id, const situ_error* error) {
  CHECK(id != 0 && error->status == SITU_ERROR_FULL && strcmp(error->text, "no room") == 0);
  ++*(int*)context;
  return 1;
}

static void publish_number(situ_publisher* publisher, uint64_t value) {
  situ_loan loan;
  CHECK(situ_publisher_loan(publisher, sizeof(struct numbers), 8, 0, &loan, NULL) == SITU_OK);
  ((struct numbers*)loan.head)->value = value;
  CHECK(situ_loan_publish(&loan, NULL, NULL) == SITU_OK);
}

/* A wait set, and an executor with callbacks. */
static void waits_and_runs(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_publisher* publisher = NULL;
  situ_subscriber* subscriber = NULL;
  situ_guard_condition* condition = NULL;
  situ_clock* clock = NULL;
  situ_timer* timer = NULL;
  situ_wait_set* set = NULL;
  situ_executor* executor = NULL;
  situ_callback_group* group = NULL;
  uint64_t topic = 0;
  uint64_t triggered = 0;
  uint64_t due = 0;
  size_t count = 0;
  situ_ready ready[4];
  CHECK(situ_node_create("n", root, &node, &error) == SITU_OK);
  CHECK(situ_publisher_create(node, "numbers", &numbers, NULL, &publisher, &error) == SITU_OK);
  CHECK(situ_subscriber_create(node, "numbers", &numbers, NULL, &subscriber, &error) == SITU_OK);
  CHECK(situ_guard_condition_create(&condition, &error) == SITU_OK);
  CHECK(situ_clock_create(5, &clock, &error) == SITU_OK);
  CHECK(situ_timer_create(clock, 100, 0, &timer, &error) == SITU_OK);
  CHECK(situ_timer_create(clock, 0, 0, &timer, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_wait_set_create(node, &set, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_subscriber(set, subscriber, &topic, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_guard_condition(set, condition, &triggered, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_timer(set, timer, &due, &error) == SITU_OK);
  CHECK(situ_wait_set_attach_timer(set, timer, &due, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_wait_set_size(set) == 3);
  situ_wait_set_spin(set, 20000);
  situ_wait_set_spin(NULL, 20000);
  CHECK(situ_wait_set_wait(set, 1000, ready, 4, &count, &error) == SITU_EMPTY);
  CHECK(situ_wait_set_wait(set, 0, ready, 0, &count, &error) == SITU_ERROR_INVALID_ARGUMENT);
  publish_number(publisher, 7);
  situ_guard_condition_trigger(condition);
  situ_clock_advance(clock, 250);
  CHECK(situ_clock_now(clock) == 255 && situ_clock_now(NULL) > 0 && situ_clock_is_paused(clock));
  CHECK(situ_wait_set_wait(set, SITU_FOREVER, ready, 2, &count, &error) == SITU_OK && count == 2);
  CHECK(situ_wait_set_wait(set, SITU_FOREVER, ready + 2, 2, &count, &error) == SITU_OK && count >= 1);
  const situ_timer_state state = situ_timer_get_state(timer);
  CHECK(state.calls == 1 && state.missed == 1 && state.left_ns == 50 && state.last.scheduled_ns == 105);
  CHECK(situ_wait_set_detach(set, due) == 1 && situ_wait_set_detach(set, due) == 0);
  CHECK(situ_wait_set_detach(set, triggered) == 1);

  CHECK(situ_executor_create(node, &executor, &error) == SITU_OK);
  CHECK(situ_callback_group_create(1, &group, &error) == SITU_OK);
  struct ran ran = {executor, subscriber, 0, 0, 0};
  const situ_callback message = {on_message, on_release, &ran, 0};
  const situ_callback timed = {on_timer, on_release, &ran, 0};
  const situ_callback fails = {on_failure, on_release, &ran, 1};
  CHECK(situ_executor_add_subscriber(executor, group, subscriber, &message, NULL, &error) == SITU_OK);
  CHECK(situ_executor_add_timer(executor, group, timer, &timed, &due, &error) == SITU_OK);
  CHECK(situ_executor_add_timer(executor, NULL, timer, &timed, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(ran.released == 1);
  CHECK(situ_executor_spin_some(executor, &count, &error) == SITU_OK && count == 1 && ran.value == 7);
  situ_clock_set(clock, 1000);
  CHECK(situ_executor_spin(executor, 2, &error) == SITU_OK && ran.timers == 1);
  CHECK(situ_executor_add_guard_condition(executor, NULL, condition, &fails, NULL, &error) == SITU_OK);
  situ_guard_condition_trigger(condition);
  CHECK(situ_executor_spin_once(executor, SITU_FOREVER, &error) == SITU_ERROR_FULL);
  CHECK(strcmp(error.text, "no room") == 0);
  int told = 0;
  situ_executor_on_error(executor, go_on, &told);
  situ_executor_busy_wait(executor, 1000000);
  situ_executor_busy_wait(NULL, 1000000);
  situ_guard_condition_trigger(condition);
  CHECK(situ_executor_spin_once(executor, SITU_FOREVER, &error) == SITU_OK && told == 1);
  CHECK(situ_executor_spin_once(executor, 0, &error) == SITU_EMPTY);
  CHECK(situ_executor_remove(executor, due) == 1 && ran.released == 2);
  situ_executor_destroy(executor);
  CHECK(ran.released == 4);
  situ_executor_destroy(NULL);
  situ_callback_group_destroy(group);
  situ_wait_set_destroy(set);
  situ_timer_destroy(timer);
  situ_clock_destroy(clock);
  situ_guard_condition_destroy(condition);
  situ_subscriber_destroy(subscriber);
  situ_publisher_destroy(publisher);
  situ_node_destroy(node);
}

/* What a callback of an event uses. */
struct matching {
  situ_event* event;
  situ_executor* executor;
  uint64_t current;
};

static situ_status on_matched(void* context, uint32_t io, situ_error* error) {
  struct matching* matching = context;
  (void)io;
  (void)error;
  matching->current = situ_event_take(matching->event).matched.current_count;
  situ_executor_stop(matching->executor);
  return SITU_OK;
}

static void events(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_publisher* publisher = NULL;
  situ_subscriber* subscriber = NULL;
  CHECK(situ_node_create("c", root, &node, &error) == SITU_OK);
  situ_publisher_qos offered = situ_publisher_qos_default();
  offered.liveliness = SITU_MANUAL_BY_TOPIC;
  offered.lease_ns = 3600 * 1000000000ull;
  CHECK(situ_publisher_create(node, "events", &numbers, &offered, &publisher, &error) == SITU_OK);
  situ_publisher_assert_liveliness(publisher);
  const situ_subscriber_qos requested = situ_subscriber_qos_profile(SITU_PROFILE_DEFAULT);
  CHECK(situ_subscriber_create(node, "events", &numbers, &requested, &subscriber, &error) == SITU_OK);

  /* A reliable subscriber does not match a publisher that offers best effort. */
  situ_event* incompatible = NULL;
  CHECK(situ_publisher_event(publisher, SITU_EVENT_INCOMPATIBLE_QOS, &incompatible, &error) == SITU_OK);
  const situ_incompatible_qos_status status = situ_event_take(incompatible).incompatible_qos;
  CHECK(status.total_count == 1 && status.last_policy == SITU_POLICY_RELIABILITY);
  situ_event* lost = NULL;
  const situ_status refused = situ_publisher_event(publisher, SITU_EVENT_MESSAGES_LOST, &lost, &error);
  CHECK(refused == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_event(publisher, SITU_EVENT_LIVELINESS_LOST, &lost, &error) == SITU_OK);
  CHECK(situ_event_take(lost).liveliness_lost.total_count == 0);

  struct matching matching = {NULL, NULL, 0};
  CHECK(situ_subscriber_event(subscriber, SITU_EVENT_MATCHED, &matching.event, &error) == SITU_OK);
  CHECK(situ_event_take(matching.event).matched.total_count == 0);
  CHECK(situ_executor_create(node, &matching.executor, &error) == SITU_OK);
  const situ_callback callback = {&on_matched, NULL, &matching, 0};
  CHECK(situ_executor_add_event(matching.executor, NULL, matching.event, &callback, NULL, &error) == SITU_OK);
  situ_publisher* reliable = NULL;
  offered.reliability = SITU_RELIABLE;
  CHECK(situ_publisher_create(node, "events", &numbers, &offered, &reliable, &error) == SITU_OK);
  CHECK(situ_executor_spin(matching.executor, 1, &error) == SITU_OK);
  CHECK(matching.current == 1);

  situ_executor_destroy(matching.executor);
  situ_event_destroy(matching.event);
  situ_event_destroy(incompatible);
  situ_publisher_destroy(reliable);
  situ_publisher_destroy(publisher);
  situ_subscriber_destroy(subscriber);
  /* Events may outlive what they belong to. */
  CHECK(situ_event_take(lost).liveliness_lost.total_count_change == 0);
  situ_event_destroy(lost);
  situ_event_destroy(NULL);
  situ_node_destroy(node);
}

int main(void) {
  char path[64];
  snprintf(path, sizeof path, "/dev/shm/situ-test-c-%ld", (long)getpid());
  const situ_root root = {path, SITU_NO_GROUP, SITU_DEFAULT_DOMAIN};
  CHECK(situ_version() == SITU_VERSION);
  CHECK(strcmp(situ_version_string(), SITU_VERSION_STRING) == 0);
  CHECK(strcmp(situ_status_name(SITU_ERROR_TYPE), "SITU_ERROR_TYPE") == 0);
  CHECK(strcmp(situ_status_name(17), "unknown status") == 0);
  publish_and_take(&root);
  domains(&root);
  growing(&root);
  mistakes(&root);
  forks(&root);
  interrupts(&root);
  events(&root);
  waits_and_runs(&root);
  lists_waits(&root);
  survives(&root);
  char command[512];
  /* The control file of traces stays; apart from it only empty directories remain. */
  snprintf(command, sizeof command, "rm %s/trace/control && rmdir %s/trace %s/nodes %s/topics %s", path, path,
           path, path, path);
  CHECK(system(command) == 0);
  return failures == 0 ? 0 : 1;
}
