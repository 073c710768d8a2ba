/* Recordings for C: reading and writing MCAP files. Include situ.h for the conventions of all functions.
 *
 *   situ_record_reader *reader;
 *   situ_record_cursor *cursor;
 *   situ_record_message message;
 *   situ_record_reader_open("drive.mcap", &reader, NULL);
 *   situ_record_cursor_create(reader, NULL, &cursor, NULL);
 *   while (situ_record_cursor_next(cursor, &message, NULL) == SITU_OK) use(message.data, message.size);
 *
 * All times are nanoseconds since 1970. In a forked child, a writer of the parent writes nothing: its
 * functions return FORKED, and destroy leaves the file to the parent. A libsitu that was built without the
 * feature `record` of its crate does not have these functions. */
#ifndef SITU_RECORD_H
#define SITU_RECORD_H

#include "situ.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* An open file. All threads may use it at once. */
typedef struct situ_record_reader situ_record_reader;

/* What is in a file. */
typedef struct situ_record_summary {
  /* What the messages have in common: "ros2", or "". Valid as long as the reader, as all texts here. */
  const char* profile;
  /* The library that wrote the file. */
  const char* library;
  /* The size of the file in bytes. */
  uint64_t size;
  uint64_t messages;
  /* The log times of the first and the last message. 0 without messages. */
  uint64_t start_time;
  uint64_t end_time;
  /* How many channels there are: see situ_record_reader_channel. */
  size_t channels;
  /* How many parts cannot be read: see situ_record_reader_problem. */
  size_t problems;
  /* Not 0 if the file ends with a summary. Otherwise it was not finished, and is read as far as it goes. */
  uint32_t is_complete;
} situ_record_summary;

/* The messages of one publisher of a topic. */
typedef struct situ_record_channel {
  /* The topic's name on the bus. */
  const char* topic;
  /* The name of the type, for example "sensor_msgs::msg::Image"; as the file writes it, if its definition
   * cannot be read. "" without a type. */
  const char* type_name;
  /* The encoding of the messages: "cdr", or "situ-region" for images of regions. Other programs may write
   * others. */
  const char* message_encoding;
  /* The type's schema as canonical text (situ_type.schema), and its hash. NULL and 0 if the definition cannot
   * be read; then `problem` says why, which is otherwise NULL. */
  const char* schema;
  const char* problem;
  uint64_t schema_hash;
  /* The id of the publisher, and its node. "" if they are not known. */
  const char* publisher;
  const char* node;
  uint64_t messages;
  /* The situ_encoding on the bus. 0 if it is not known. */
  uint32_t encoding;
} situ_record_channel;

/* Opens a file, also one that was not finished. Errors: INVALID_ARGUMENT, SYSTEM, MALFORMED, NO_MEMORY. */
situ_status situ_record_reader_open(const char* path, situ_record_reader** reader, situ_error* error);
void situ_record_reader_close(situ_record_reader* reader);

/* What is in the file. Zeroes for NULL. */
situ_record_summary situ_record_reader_summary(const situ_record_reader* reader);

/* The channel of this index, from 0 on; SITU_EMPTY behind the last one. Errors: INVALID_ARGUMENT. */
situ_status situ_record_reader_channel(const situ_record_reader* reader, size_t index,
                                       situ_record_channel* channel, situ_error* error);

/* A part of the file that cannot be read, from 0 on; NULL behind the last one. */
const char* situ_record_reader_problem(const situ_record_reader* reader, size_t index);

/* Which messages are read. Zeroes: all. */
typedef struct situ_record_filter {
  /* The topics, by their names on the bus. NULL: all. */
  const char* const* topics;
  size_t topic_count;
  /* The first log time, and the first one that is too late. An end of 0 is no limit. */
  uint64_t start_time;
  uint64_t end_time;
} situ_record_filter;

/* A message. The data are valid until the next call for the cursor. */
typedef struct situ_record_message {
  const void* data;
  size_t size;
  /* When it was recorded, and when it was published. */
  uint64_t log_time;
  uint64_t publish_time;
  /* The index of its channel. */
  size_t channel;
  /* Its number among those of its publisher, modulo 2^32. */
  uint32_t sequence;
} situ_record_message;

/* Messages in the order of their log times. One thread may use it at a time. */
typedef struct situ_record_cursor situ_record_cursor;

/* Begins before the first message. `filter` may be NULL. The cursor may outlive the reader. Errors:
 * INVALID_ARGUMENT. */
situ_status situ_record_cursor_create(const situ_record_reader* reader, const situ_record_filter* filter,
                                      situ_record_cursor** cursor, situ_error* error);
void situ_record_cursor_destroy(situ_record_cursor* cursor);

/* The next message; SITU_EMPTY at the end. After an error the next call goes on behind the part that cannot
 * be read. Errors: INVALID_ARGUMENT, SYSTEM, MALFORMED, NO_MEMORY. */
situ_status situ_record_cursor_next(situ_record_cursor* cursor, situ_record_message* message,
                                    situ_error* error);

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* A file that is being written. One thread may use it at a time. */
typedef struct situ_record_writer situ_record_writer;

typedef enum situ_record_compression {
  SITU_RECORD_UNCOMPRESSED = 0,
  SITU_RECORD_LZ4 = 1,
  SITU_RECORD_ZSTD = 2
} situ_record_compression;

/* How a file is written. Zeroes are the defaults. */
typedef struct situ_record_writer_options {
  /* A situ_record_compression. */
  uint32_t compression;
  /* How many threads compress. 0: one. */
  uint32_t threads;
  /* Not 0: chunks that are not compressed have check sums, too. */
  uint32_t checksums;
  /* Not 0: an existing file is replaced. Otherwise it is an error. */
  uint32_t overwrite;
  /* The size in bytes at which a chunk is written. 0: 4 MiB. A kill loses at most the last chunk. */
  uint64_t chunk_size;
  /* How many bytes may wait for the file before writing waits. 0: 256 MiB. */
  uint64_t queue_size;
} situ_record_writer_options;

/* Creates a file. `options` may be NULL. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_record_writer_create(const char* path, const situ_record_writer_options* options,
                                      situ_record_writer** writer, situ_error* error);

/* Adds a topic, and returns its number. Messages of SITU_XCDR1, SITU_XCDR2 and SITU_FLAT are written as CDR;
 * those of SITU_FLAT become flat again when the file is played. Messages of SITU_REGION are images. Errors:
 * INVALID_ARGUMENT, TYPE, SYSTEM. */
situ_status situ_record_writer_add_topic(situ_record_writer* writer, const char* topic, const situ_type* type,
                                         uint32_t* number, situ_error* error);

/* The time of the call as log time, and the log time as publish time. */
#define SITU_RECORD_NOW UINT64_MAX

/* Adds a message: CDR with its encapsulation header, or the image of a region. The data are copied. The
 * messages of a topic are numbered from 0 on. Errors: INVALID_ARGUMENT, SYSTEM. */
situ_status situ_record_writer_write(situ_record_writer* writer, uint32_t topic, const void* data,
                                     size_t size, uint64_t log_time, uint64_t publish_time,
                                     situ_error* error);

/* Waits until all messages so far are in the file, not necessarily on the disk. Errors: INVALID_ARGUMENT,
 * SYSTEM. */
situ_status situ_record_writer_flush(situ_record_writer* writer, situ_error* error);

/* What was written. */
typedef struct situ_record_written {
  uint64_t messages;
  /* The size of the file in bytes. */
  uint64_t size;
  /* Messages that were accepted and are not in the file, because writing failed. */
  uint64_t unwritten;
} situ_record_written;

/* Writes the rest and the summary, and closes the file: later calls fail. `written` may be NULL, and is also
 * filled on SYSTEM, which means that messages or the summary are missing. Errors: INVALID_ARGUMENT, SYSTEM.
 */
situ_status situ_record_writer_finish(situ_record_writer* writer, situ_record_written* written,
                                      situ_error* error);

/* Frees a writer. One that was not finished is finished first, but cannot report what failed. */
void situ_record_writer_destroy(situ_record_writer* writer);

#ifdef __cplusplus
}
#endif

#endif
