/* Blackboards in plain C: values, versions, mistakes, the writer's end. Exits with 0 on success. */
#include <signal.h>
#include <situ/blackboard.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (!good) {
    fprintf(stderr, "c_blackboard_test.c:%d: %s\n", line, what);
    failures++;
  }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

struct limit {
  double most;
  uint64_t rounds;
};

static const situ_type limit_type = {
    "test::Limit",
    "module test {\n  struct Limit {\n    double most;\n    uint64 rounds;\n  };\n};\n",
    0x12,
    0x34,
    SITU_FLAT,
    sizeof(struct limit),
    0};

static const char* const keys[] = {"arm", "base"};
static situ_error error;

static void values(const situ_node* node) {
  situ_blackboard_writer *writer = NULL, *second = NULL;
  situ_blackboard_reader* reader = NULL;
  struct limit limit = {1.5, 2};
  uint64_t version = 99;
  size_t position = 99;
  CHECK(situ_blackboard_reader_create(node, "limits", &limit_type, &reader, &error) == SITU_EMPTY);
  CHECK(situ_blackboard_writer_create(node, "limits", &limit_type, keys, 2, &writer, &error) == SITU_OK);
  CHECK(situ_blackboard_writer_create(node, "limits", &limit_type, keys, 2, &second, &error) ==
        SITU_ERROR_BUSY);
  CHECK(situ_blackboard_reader_create(node, "limits", &limit_type, &reader, &error) == SITU_OK);
  CHECK(situ_blackboard_reader_key_count(reader) == 2);
  CHECK(strcmp(situ_blackboard_reader_key(reader, 1), "base") == 0);
  CHECK(situ_blackboard_reader_key(reader, 2) == NULL);
  CHECK(situ_blackboard_reader_find(reader, "base", &position, &error) == SITU_OK && position == 1);
  CHECK(situ_blackboard_reader_find(reader, "leg", &position, &error) == SITU_EMPTY && position == 1);
  CHECK(situ_blackboard_reader_get(reader, 1, &limit, sizeof limit, &version, &error) == SITU_EMPTY);

  CHECK(situ_blackboard_writer_set(writer, 1, &limit, sizeof limit, &version, &error) == SITU_OK);
  CHECK(version == 1);
  limit.most = 2.5;
  CHECK(situ_blackboard_writer_set(writer, 1, &limit, sizeof limit, NULL, &error) == SITU_OK);
  struct limit found = {0, 0};
  CHECK(situ_blackboard_reader_get(reader, 1, &found, sizeof found, &version, &error) == SITU_OK);
  CHECK(version == 2 && found.most == 2.5 && found.rounds == 2);
  CHECK(situ_blackboard_reader_version(reader, 0) == 0 && situ_blackboard_reader_version(reader, 1) == 2);
  CHECK(situ_blackboard_reader_changes(reader) == 2);
  CHECK(situ_blackboard_reader_writer(reader) == SITU_WRITER_ALIVE);

  CHECK(situ_blackboard_writer_set(writer, 2, &limit, sizeof limit, NULL, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(error.text, "has no key \"2\"") != NULL);
  CHECK(situ_blackboard_writer_set(writer, 0, &limit, 8, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_blackboard_writer_set(writer, 0, NULL, 16, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_blackboard_writer_set(NULL, 0, &limit, 16, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_blackboard_reader_get(reader, 1, &found, 8, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_blackboard_reader_get(reader, 2, &found, 16, NULL, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_type other = limit_type;
  other.schema_hash = 1;
  situ_blackboard_reader* none = NULL;
  CHECK(situ_blackboard_reader_create(node, "limits", &other, &none, &error) == SITU_ERROR_TYPE);
  other.fixed_size = 0;
  CHECK(situ_blackboard_writer_create(node, "x", &other, keys, 2, &second, &error) == SITU_ERROR_TYPE);
  const char* const twice[] = {"arm", "arm"};
  CHECK(situ_blackboard_writer_create(node, "x", &limit_type, twice, 2, &second, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_blackboard_writer_create(node, "x", &limit_type, NULL, 2, &second, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_blackboard_writer_create(node, "x", &limit_type, keys, 0, &second, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);

  situ_blackboard_writer_destroy(writer);
  CHECK(situ_blackboard_reader_writer(reader) == SITU_WRITER_LEFT);
  CHECK(situ_blackboard_reader_get(reader, 1, &found, sizeof found, NULL, &error) == SITU_OK);
  situ_blackboard_reader_destroy(reader);
  situ_blackboard_writer_destroy(NULL);
  situ_blackboard_reader_destroy(NULL);
}

/* Another process writes, and is killed. Its value stays, and the next writer goes on. */
static void another_process(const situ_root* root, const situ_node* node) {
  int ready[2];
  char byte = 0;
  CHECK(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    situ_node* own = NULL;
    situ_blackboard_writer* writer = NULL;
    const struct limit limit = {7, 8};
    if (situ_node_create("writer", root, &own, NULL) != SITU_OK) _exit(1);
    if (situ_blackboard_writer_create(own, "other", &limit_type, keys, 2, &writer, NULL) != SITU_OK) _exit(2);
    if (situ_blackboard_writer_set(writer, 0, &limit, sizeof limit, NULL, NULL) != SITU_OK) _exit(3);
    if (write(ready[1], "x", 1) != 1) _exit(4);
    for (;;) pause();
  }
  CHECK(read(ready[0], &byte, 1) == 1);
  situ_blackboard_reader* reader = NULL;
  CHECK(situ_blackboard_reader_create(node, "other", &limit_type, &reader, &error) == SITU_OK);
  CHECK(situ_blackboard_reader_writer(reader) == SITU_WRITER_ALIVE);
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
  CHECK(situ_blackboard_reader_writer(reader) == SITU_WRITER_DEAD);
  struct limit found = {0, 0};
  CHECK(situ_blackboard_reader_get(reader, 0, &found, sizeof found, NULL, &error) == SITU_OK);
  CHECK(found.most == 7 && found.rounds == 8);
  situ_blackboard_writer* next = NULL;
  uint64_t version = 0;
  CHECK(situ_blackboard_writer_create(node, "other", &limit_type, keys, 2, &next, &error) == SITU_OK);
  CHECK(situ_blackboard_writer_set(next, 0, &found, sizeof found, &version, &error) == SITU_OK);
  CHECK(version == 2 && situ_blackboard_reader_version(reader, 0) == 2);
  situ_blackboard_writer_destroy(next);
  situ_blackboard_reader_destroy(reader);
}

int main(void) {
  char path[64], command[512];
  snprintf(path, sizeof path, "/dev/shm/situ-test-c-blackboard-%ld", (long)getpid());
  const situ_root root = {path, SITU_NO_GROUP, SITU_DEFAULT_DOMAIN};
  situ_node* node = NULL;
  CHECK(situ_node_create("c", &root, &node, &error) == SITU_OK);
  values(node);
  another_process(&root, node);
  situ_node_destroy(node);
  snprintf(command, sizeof command, "rm -r %s", path);
  CHECK(system(command) == 0);
  return failures == 0 ? 0 : 1;
}
