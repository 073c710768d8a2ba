/* situ/trace.h: events of a program in traces. `situ.h` includes it.
 *
 * Every trace contains the events of the bus. These functions add events of the program. A process takes part
 * in recordings (`situ trace record`) from its first node on, unless it was started with SITU_TRACE=0.
 *
 *   static situ_trace_category planner = SITU_TRACE_CATEGORY("planner");
 *   static situ_trace_name plan = SITU_TRACE_NAME("plan");
 *   if (SITU_TRACE_IS_ENABLED(&planner)) {
 *     const situ_trace_event event = {.category = &planner, .name = &plan};
 *     situ_trace_write(SITU_TRACE_KIND_BEGIN, &event);
 *   }
 *   ...
 *   situ_trace_end();
 *
 * Names, categories and counters are static: they, and the library that contains them, must last as long as
 * the program. Members that end with an underscore are internal. */
#ifndef SITU_TRACE_H
#define SITU_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A name: of an event, an argument, a category. */
typedef struct situ_trace_name {
  const char* text;
  size_t length;
  uint32_t number_;
} situ_trace_name;

/* A group of events that is switched on and off as a whole. Names with commas between them make a group,
 * which is on if one of these categories would be. `tags` are separated by commas, too: a recording selects
 * categories by them (`tag:map`). It leaves out the tags `slow` and `debug` unless it selects them. */
typedef struct situ_trace_category {
  situ_trace_name name;
  situ_trace_name tags;
  uint32_t state_;
  void* next_;
} situ_trace_category;

/* A number over time. `unit` is 0, or 1 for bytes, or 2 for nanoseconds. */
typedef struct situ_trace_counter {
  situ_trace_category* category;
  situ_trace_name name;
  uint32_t unit;
  uint64_t last_;
} situ_trace_counter;

/* Initializers. `text_` is a literal. */
#define SITU_TRACE_NAME(text_) \
  { (text_), sizeof(text_) - 1, 0 }
#define SITU_TRACE_CATEGORY(text_) \
  { SITU_TRACE_NAME(text_), SITU_TRACE_NAME(""), 0, NULL }
#define SITU_TRACE_CATEGORY_WITH_TAGS(text_, tags_) \
  { SITU_TRACE_NAME(text_), SITU_TRACE_NAME(tags_), 0, NULL }
#define SITU_TRACE_COUNTER(category_, text_, unit_) \
  { (category_), SITU_TRACE_NAME(text_), (unit_), UINT64_MAX }

typedef enum situ_trace_value_kind {
  SITU_TRACE_BOOL = 1,
  SITU_TRACE_UINT = 2,
  SITU_TRACE_INT = 3,
  SITU_TRACE_DOUBLE = 4,
  SITU_TRACE_TEXT = 5,
  SITU_TRACE_POINTER = 6,
  SITU_TRACE_DICTIONARY = 7,
  SITU_TRACE_ARRAY = 8
} situ_trace_value_kind;

struct situ_trace_argument;

/* The value of an argument; situ_trace_value_kind tells which member is set. */
typedef union situ_trace_value {
  uint32_t as_bool;
  uint64_t as_uint;
  int64_t as_int;
  double as_double;
  /* UTF-8. The argument has its length. Invalid bytes are replaced by U+FFFD, as in names. */
  const char* as_text;
  const void* as_pointer;
  /* Of a dictionary, and of an array, whose entries need no names. The argument has their number. */
  const struct situ_trace_argument* as_entries;
} situ_trace_value;

/* An argument of an event. `kind` is a situ_trace_value_kind. If `name` is NULL, its name is the text
 * `dynamic_name`, which is written each time. */
typedef struct situ_trace_argument {
  situ_trace_name* name;
  situ_trace_value value;
  size_t length;
  uint32_t kind;
  uint32_t dynamic_length;
  const char* dynamic_name;
} situ_trace_argument;

/* The maximum number of arguments of an event, and of entries within them. Further ones are omitted. */
#define SITU_TRACE_MAX_ARGUMENTS 16
#define SITU_TRACE_MAX_NESTED 64

/* Where a track lies, if it has no parent: in this process, below the thread that writes the event, or in no
 * process. */
typedef enum situ_trace_scope {
  SITU_TRACE_OF_PROCESS = 0,
  SITU_TRACE_OF_THREAD = 1,
  SITU_TRACE_GLOBAL = 2
} situ_trace_scope;

/* A track of the program's own, for work that moves between threads or overlaps. Tracks with the same parent
 * (or `scope`, a situ_trace_scope), name and `id` are the same track, in all threads. Slices of one track
 * must nest. */
typedef struct situ_trace_track {
  const char* name;
  size_t length;
  uint64_t id;
  uint32_t scope;
  const struct situ_trace_track* parent;
} situ_trace_track;

/* An event. Events with the same flow number are connected by arrows; an arrow ends at `last_flows`. Members
 * that are 0 and NULL mean: at this time; on this thread's track; no fields. If `name` is NULL, its name is
 * the text `dynamic_name`. `fields` are encoded fields of Perfetto's TrackEvent, as typed arguments. */
typedef struct situ_trace_event {
  situ_trace_category* category;
  situ_trace_name* name;
  const uint64_t* flows;
  size_t flow_count;
  const uint64_t* last_flows;
  size_t last_flow_count;
  const situ_trace_argument* arguments;
  size_t argument_count;
  uint64_t at_ns;
  const situ_trace_track* track;
  const char* dynamic_name;
  size_t dynamic_length;
  const uint8_t* fields;
  size_t fields_length;
} situ_trace_event;

/* The kind of an event: the beginning of a slice, the end of the last one on its track, or an instant. An end
 * needs no name. */
#define SITU_TRACE_KIND_BEGIN 1
#define SITU_TRACE_KIND_END 2
#define SITU_TRACE_KIND_INSTANT 3

/* Registers a category on first use. Returns whether it is on. The macro calls it. */
uint32_t situ_trace_register(situ_trace_category* category);

/* Whether a category is on: one relaxed load. */
#define SITU_TRACE_IS_ENABLED(category_)                           \
  (__atomic_load_n(&(category_)->state_, __ATOMIC_RELAXED) != 1 && \
   (__atomic_load_n(&(category_)->state_, __ATOMIC_RELAXED) == 2 || situ_trace_register(category_) != 0))

/* Writes an event, if a recording runs. Check first whether its category is on. */
void situ_trace_write(uint32_t kind, const situ_trace_event* event);

/* Begins a slice on this thread's track. Returns a number for its end; 0: nothing is recorded. */
uint64_t situ_trace_begin_slice(const situ_trace_event* event);

/* Ends a slice, and those that began within it and have not ended; `at_ns` 0 is now. On another thread it
 * does nothing: the slice then ends with the one around it. */
void situ_trace_end_slice(uint64_t slice, uint64_t at_ns);

/* Writes a packet of the program's own type: its time (0: now), and encoded fields of Perfetto's TracePacket,
 * usually an extension. Returns whether a recording runs and the bytes are whole fields, without 8, 10, 12,
 * 13, 42, 58, 59 and 87, which Situ writes. */
uint32_t situ_trace_packet(uint64_t at_ns, const uint8_t* fields, size_t length);

/* The time of the clock of traces: nanoseconds since the machine started (CLOCK_BOOTTIME). */
uint64_t situ_trace_now(void);

/* Ends the last slice that began on this thread. */
void situ_trace_end(void);

/* How severe a message of a log is. Other numbers count as the nearest one. */
typedef enum situ_trace_severity {
  SITU_TRACE_SEVERITY_TRACE = 2,
  SITU_TRACE_SEVERITY_DEBUG = 3,
  SITU_TRACE_SEVERITY_INFO = 4,
  SITU_TRACE_SEVERITY_WARN = 5,
  SITU_TRACE_SEVERITY_ERROR = 6,
  SITU_TRACE_SEVERITY_FATAL = 7
} situ_trace_severity;

/* A message of a log. Texts need not be terminated; they must last as long as the call. `file`, the source
 * file with the line that wrote the message, and `logger`, the name of a part of the program, may be NULL
 * with length 0. `line` is 0 if it is not known. `severity` is a situ_trace_severity. */
typedef struct situ_trace_log_message {
  const char* text;
  size_t length;
  const char* file;
  size_t file_length;
  const char* logger;
  size_t logger_length;
  uint32_t line;
  uint32_t severity;
} situ_trace_log_message;

/* Writes a message of a log on this thread's track, if the category is on. NULL is the category `log`.
 * Perfetto also shows the message in its list of logs. */
void situ_trace_log(situ_trace_category* category, const situ_trace_log_message* message);

/* Records a new value of a counter, if its category is on. The second one records it from a time on; 0 is
 * now. */
void situ_trace_count(situ_trace_counter* counter, double value);
void situ_trace_count_at(situ_trace_counter* counter, double value, uint64_t at_ns);

/* The same for a counter with the name, number and parent of a track: its name may be computed, and it lies
 * below other tracks. `unit` is as in situ_trace_counter. Slices of the same track lie beside it. */
void situ_trace_count_on(situ_trace_category* category, const situ_trace_track* track, uint32_t unit,
                         double value, uint64_t at_ns);

#ifdef __cplusplus
}
#endif

#endif
