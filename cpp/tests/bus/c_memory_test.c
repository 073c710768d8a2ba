/* The C interface of memory: fixed slots, reservations, and wishes for pages. */
#include <situ.h>
#include <situ/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (!good) {
    fprintf(stderr, "c_memory_test.c:%d: %s\n", line, what);
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

static void memory(const situ_root* root) {
  situ_error error;
  situ_node* node = NULL;
  situ_publisher *fixed = NULL, *plain = NULL, *none = NULL;
  const situ_placement in_slots = {NULL, 0, 0, SITU_FIXED_SLOTS, 0},
                       usual = {NULL, 0, 0, SITU_SIZE_CLASSES, 0};
  const situ_memory_options slots = {3, 10000, 1, 1, 0}, no_size = {3, 0, 0, 0, 0};
  CHECK(situ_node_create("c", root, &node, &error) == SITU_OK);
  CHECK(situ_publisher_create_with(node, "slots", &numbers, NULL, &in_slots, &slots, &fixed, &error) ==
        SITU_OK);
  CHECK(situ_publisher_get_statistics(fixed).slots == 3);
  CHECK(situ_publisher_get_statistics(fixed).memory_bytes >= 30000);
  const situ_pages pages = situ_publisher_pages(fixed);
  CHECK(pages.huge != SITU_PAGES_NOT_ASKED && pages.node != SITU_PAGES_NOT_ASKED);
  CHECK((pages.huge == SITU_PAGES_REFUSED) == (pages.huge_errno != 0));
  situ_loan loans[3], another;
  for (int i = 0; i < 3; ++i) {
    CHECK(situ_publisher_loan(fixed, sizeof(struct numbers), 8, 9000, &loans[i], &error) == SITU_OK);
  }
  CHECK(situ_publisher_loan(fixed, 8, 8, 0, &another, &error) == SITU_ERROR_NO_MEMORY);
  for (int i = 0; i < 3; ++i) situ_loan_discard(&loans[i]);
  CHECK(situ_publisher_loan(fixed, 8, 8, 20000, &another, &error) == SITU_ERROR_NO_MEMORY);

  CHECK(situ_publisher_create_with(node, "plain", &numbers, NULL, NULL, NULL, &plain, &error) == SITU_OK);
  CHECK(situ_publisher_pages(plain).huge == SITU_PAGES_NOT_ASKED);
  CHECK(situ_publisher_reserve(plain, 4, 100000, &error) == SITU_OK);
  CHECK(situ_publisher_get_statistics(plain).memory_bytes >= 400000);
  CHECK(situ_publisher_reserve(plain, SIZE_MAX, 1, &error) == SITU_ERROR_NO_MEMORY);
  CHECK(situ_publisher_reserve(NULL, 1, 1, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_trim(plain) >= 400000);

  CHECK(situ_publisher_create_in(node, "none", &numbers, NULL, &in_slots, &none, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_create_with(node, "none", &numbers, NULL, &in_slots, &no_size, &none, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_publisher_create_with(node, "none", &numbers, NULL, &usual, &slots, &none, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  const situ_memory_options too_many = {70000, 64, 0, 0, 0};
  CHECK(situ_publisher_create_with(node, "none", &numbers, NULL, &in_slots, &too_many, &none, &error) ==
        SITU_ERROR_SYSTEM);
  CHECK(none == NULL && situ_publisher_pages(NULL).node == 0);
  situ_publisher_destroy(fixed);
  situ_publisher_destroy(plain);
  situ_node_destroy(node);
}

int main(void) {
  char path[64], command[128];
  snprintf(path, sizeof path, "/dev/shm/situ-test-c-memory-%ld", (long)getpid());
  const situ_root root = {path, SITU_NO_GROUP, SITU_DEFAULT_DOMAIN};
  memory(&root);
  snprintf(command, sizeof command, "rm -r %s", path);
  CHECK(system(command) == 0);
  if (failures == 0) printf("ok\n");
  return failures != 0;
}
