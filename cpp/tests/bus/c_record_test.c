/* Recordings in plain C: a file with two messages, read again; mistakes. Exits with 0 on success. */
#include <situ/record.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (!good) {
    fprintf(stderr, "c_record_test.c:%d: %s\n", line, what);
    failures++;
  }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

static const situ_type number = {
    "test::Number", "module test { struct Number { uint8 value; }; };", 0, 0, SITU_XCDR1, 0, 0};

static situ_error error;

static void write_file(const char* path) {
  const uint8_t first[] = {0, 1, 0, 0, 7};
  const uint8_t second[] = {0, 1, 0, 0, 8};
  situ_record_writer* writer = NULL;
  situ_record_written written;
  uint32_t topic = 9;
  CHECK(situ_record_writer_create(path, NULL, &writer, &error) == SITU_OK);
  CHECK(situ_record_writer_add_topic(writer, "numbers", &number, &topic, &error) == SITU_OK);
  CHECK(situ_record_writer_write(writer, topic, first, sizeof(first), 100, SITU_RECORD_NOW, &error) ==
        SITU_OK);
  CHECK(situ_record_writer_write(writer, topic, second, sizeof(second), 200, 150, &error) == SITU_OK);
  CHECK(situ_record_writer_write(writer, topic + 1, second, sizeof(second), 200, 150, &error) ==
        SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_record_writer_write(writer, topic, NULL, 5, 200, 150, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(situ_record_writer_flush(writer, &error) == SITU_OK);
  CHECK(situ_record_writer_finish(writer, &written, &error) == SITU_OK);
  CHECK(written.messages == 2 && written.unwritten == 0 && written.size > 0);
  CHECK(situ_record_writer_finish(writer, &written, &error) == SITU_ERROR_INVALID_ARGUMENT);
  situ_record_writer_destroy(writer);
  CHECK(situ_record_writer_create(path, NULL, &writer, &error) == SITU_ERROR_INVALID_ARGUMENT);
  CHECK(strstr(error.text, "exists already") != NULL);
}

static void read_file(const char* path) {
  situ_record_reader* reader = NULL;
  situ_record_cursor* cursor = NULL;
  situ_record_channel channel;
  situ_record_message message;
  situ_record_summary summary;
  const char* const topics[] = {"numbers"};
  const situ_record_filter late = {topics, 1, 101, 0};
  CHECK(situ_record_reader_open(path, &reader, &error) == SITU_OK);
  summary = situ_record_reader_summary(reader);
  CHECK(summary.messages == 2 && summary.channels == 1 && summary.problems == 0 && summary.is_complete == 1);
  CHECK(summary.start_time == 100 && summary.end_time == 200 && strcmp(summary.profile, "ros2") == 0);
  CHECK(situ_record_reader_channel(reader, 0, &channel, &error) == SITU_OK);
  CHECK(strcmp(channel.topic, "numbers") == 0 && strcmp(channel.type_name, "test::Number") == 0);
  CHECK(strcmp(channel.message_encoding, "cdr") == 0 && channel.encoding == SITU_XCDR1);
  CHECK(channel.messages == 2 && channel.schema != NULL && channel.schema_hash != 0);
  CHECK(channel.problem == NULL && strcmp(channel.publisher, "") == 0);
  CHECK(situ_record_reader_channel(reader, 1, &channel, &error) == SITU_EMPTY);
  CHECK(situ_record_reader_problem(reader, 0) == NULL);

  CHECK(situ_record_cursor_create(reader, NULL, &cursor, &error) == SITU_OK);
  situ_record_reader_close(reader);
  CHECK(situ_record_cursor_next(cursor, &message, &error) == SITU_OK);
  CHECK(message.log_time == 100 && message.publish_time == 100 && message.sequence == 0);
  CHECK(message.size == 5 && ((const uint8_t*)message.data)[4] == 7 && message.channel == 0);
  CHECK(situ_record_cursor_next(cursor, &message, &error) == SITU_OK);
  CHECK(message.log_time == 200 && message.publish_time == 150 && message.sequence == 1);
  CHECK(situ_record_cursor_next(cursor, &message, &error) == SITU_EMPTY);
  situ_record_cursor_destroy(cursor);

  CHECK(situ_record_reader_open(path, &reader, &error) == SITU_OK);
  CHECK(situ_record_cursor_create(reader, &late, &cursor, &error) == SITU_OK);
  CHECK(situ_record_cursor_next(cursor, &message, &error) == SITU_OK && message.log_time == 200);
  CHECK(situ_record_cursor_next(cursor, &message, &error) == SITU_EMPTY);
  situ_record_cursor_destroy(cursor);
  situ_record_reader_close(reader);
  CHECK(situ_record_reader_open("/dev/null", &reader, &error) == SITU_ERROR_SYSTEM);
  CHECK(situ_record_cursor_next(NULL, &message, &error) == SITU_ERROR_INVALID_ARGUMENT);
}

int main(void) {
  char path[64];
  snprintf(path, sizeof(path), "/dev/shm/situ-test-record-c-%d.mcap", (int)getpid());
  write_file(path);
  read_file(path);
  unlink(path);
  return failures == 0 ? 0 : 1;
}
