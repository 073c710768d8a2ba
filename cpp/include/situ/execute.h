/* Waiting for many things at once, and running callbacks: wait sets, guard conditions, clocks, timers,
 * executors. The rules of situ.h hold here.
 *
 *   situ_executor *executor;
 *   situ_executor_create(node, &executor, NULL);
 *   situ_callback callback = {.call = on_scan, .context = &state};
 *   situ_executor_add_subscriber(executor, NULL, scans, &callback, NULL, NULL);
 *   situ_executor_spin(executor, 1, &error);
 *
 * All threads may use all handles of this part at once, except that one thread at a time waits for a wait set
 * or spins an executor.
 */
#ifndef SITU_EXECUTE_H
#define SITU_EXECUTE_H

#include <stddef.h>
#include <stdint.h>

#include "situ.h"
#include "situ/events.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Guard conditions ---------------------------------------------------------------------------------- */

/* A condition that wakes a wait set or an executor. It may be attached to one at a time. */
typedef struct situ_guard_condition situ_guard_condition;

/* Creates a condition. Destroy it with situ_guard_condition_destroy; that does not detach it. Errors:
 * INVALID_ARGUMENT. */
situ_status situ_guard_condition_create(situ_guard_condition** condition, situ_error* error);
void situ_guard_condition_destroy(situ_guard_condition* condition);
/* Triggers it. Any thread and any signal handler may call this. A wait reports it once, and resets it. */
void situ_guard_condition_trigger(const situ_guard_condition* condition);
/* Not 0 if it was triggered and not reported yet. */
int32_t situ_guard_condition_is_triggered(const situ_guard_condition* condition);

/* ---- Clocks -------------------------------------------------------------------------------------------- */

/* A clock that the program sets, for timers in simulated time. It stands still until it is set, advanced or
 * started. */
typedef struct situ_clock situ_clock;

/* Creates a clock that stands still at `time_ns`. Destroy it with situ_clock_destroy; timers keep it. Errors:
 * INVALID_ARGUMENT. */
situ_status situ_clock_create(uint64_t time_ns, situ_clock** clock, situ_error* error);
void situ_clock_destroy(situ_clock* clock);
/* The present time; for NULL, that of the machine's steady clock. */
uint64_t situ_clock_now(const situ_clock* clock);
/* Sets or advances the time. Timers that are due by then are due now, each once. After a step back, each
 * timer starts its period again. */
void situ_clock_set(const situ_clock* clock, uint64_t time_ns);
void situ_clock_advance(const situ_clock* clock, uint64_t by_ns);
/* Lets the time pass by itself: `rate` simulated seconds in each second. 0 stops it. */
void situ_clock_run(const situ_clock* clock, double rate);
/* Not 0 while the time stands still. */
int32_t situ_clock_is_paused(const situ_clock* clock);

/* ---- Timers -------------------------------------------------------------------------------------------- */

/* A timer, for one wait set or executor at a time. It runs from its creation on. A periodic timer keeps its
 * phase. If several periods pass before it is reported, it is reported once, and the others are counted. */
typedef struct situ_timer situ_timer;

/* One report of a timer. Times are of its clock. */
typedef struct situ_timer_call {
  /* When it was due. */
  uint64_t scheduled_ns;
  /* When it was reported. */
  uint64_t reported_ns;
  /* The number of whole periods that passed without a report before this one. */
  uint64_t missed;
} situ_timer_call;

/* What situ_timer_get_state returns. */
typedef struct situ_timer_state {
  uint64_t period_ns;
  /* The time until it is due, or SITU_FOREVER if it does not run. */
  uint64_t left_ns;
  /* How often it was reported, and how many periods passed without a report of their own. */
  uint64_t calls;
  uint64_t missed;
  situ_timer_call last;
} situ_timer_state;

/* Creates a timer that is due after each period, or after `period_ns` once if `once` is not 0. `clock` may be
 * NULL: the machine's steady clock. Destroy it with situ_timer_destroy; that does not detach it. Errors:
 * INVALID_ARGUMENT. */
situ_status situ_timer_create(const situ_clock* clock, uint64_t period_ns, uint32_t once, situ_timer** timer,
                              situ_error* error);
void situ_timer_destroy(situ_timer* timer);
/* Starts its period again, also after it was cancelled or its one shot is over. */
void situ_timer_reset(const situ_timer* timer);
/* Stops it until it is reset. */
void situ_timer_cancel(const situ_timer* timer);
/* Changes its period, and starts it again. Errors: INVALID_ARGUMENT. */
situ_status situ_timer_set_period(const situ_timer* timer, uint64_t period_ns, situ_error* error);
situ_timer_state situ_timer_get_state(const situ_timer* timer);

/* ---- Wait sets ----------------------------------------------------------------------------------------- */

/* Waits for any number of sources. The cost of a wait depends on the sources that are ready, and not on the
 * attached ones: 10,000 are fine. */
typedef struct situ_wait_set situ_wait_set;

/* What a descriptor is ready for, or what to wait for. Other sources are SITU_READABLE. */
typedef enum situ_io {
  SITU_READABLE = 1,
  SITU_WRITABLE = 2,
  /* The other end is closed, or the descriptor has an error. Always reported. */
  SITU_CLOSED = 4
} situ_io;

/* A source that is ready. */
typedef struct situ_ready {
  /* What attaching returned. */
  uint64_t id;
  /* A combination of situ_io. */
  uint32_t io;
} situ_ready;

/* Creates an empty set. Destroy it with situ_wait_set_destroy. The node's threads watch those topics that the
 * waiting thread does not. Errors: INVALID_ARGUMENT. */
situ_status situ_wait_set_create(const situ_node* node, situ_wait_set** set, situ_error* error);
void situ_wait_set_destroy(situ_wait_set* set);

/* Attaches a source. `id` receives its number, which is never used again. A thread may wait meanwhile. A
 * subscriber is detached when it is destroyed, and so are the events of a destroyed publisher or subscriber.
 * A descriptor must stay open while it is attached; it is reported as long as it is ready. Errors:
 * INVALID_ARGUMENT (also if it is attached elsewhere), SYSTEM, FORKED. */
situ_status situ_wait_set_attach_subscriber(situ_wait_set* set, const situ_subscriber* subscriber,
                                            uint64_t* id, situ_error* error);
situ_status situ_wait_set_attach_guard_condition(situ_wait_set* set, const situ_guard_condition* condition,
                                                 uint64_t* id, situ_error* error);
situ_status situ_wait_set_attach_timer(situ_wait_set* set, const situ_timer* timer, uint64_t* id,
                                       situ_error* error);
situ_status situ_wait_set_attach_event(situ_wait_set* set, const situ_event* event, uint64_t* id,
                                       situ_error* error);
situ_status situ_wait_set_attach_descriptor(situ_wait_set* set, int fd, uint32_t io, uint64_t* id,
                                            situ_error* error);
/* Detaches a source. Returns 0 if it was not attached. */
int32_t situ_wait_set_detach(situ_wait_set* set, uint64_t id);
/* The number of attached sources. */
size_t situ_wait_set_size(const situ_wait_set* set);

/* Waits until a source is ready: SITU_OK, with `count` sources in `ready`, which has room for `capacity`. If
 * more are ready, the next wait returns the others first. SITU_EMPTY when the timeout passes first. A topic
 * is reported at each wait until its messages are taken, an event until its status is taken, a condition and
 * a timer once. If something is ready already, the call makes no system call, except one for all attached
 * descriptors. It does not allocate. Errors: INVALID_ARGUMENT, SYSTEM, FORKED, BUSY if another thread waits.
 */
situ_status situ_wait_set_wait(situ_wait_set* set, uint64_t timeout_ns, situ_ready* ready, size_t capacity,
                               size_t* count, situ_error* error);

/* Lets waits look for something ready for up to `limit_ns` before they sleep. 0, as at the beginning: they
 * sleep at once. They look only if the last waits were shorter than the limit, so it costs no time where
 * messages come rarely. A set with descriptors always sleeps at once. */
void situ_wait_set_spin(situ_wait_set* set, uint64_t limit_ns);

/* A descriptor that is readable while something is ready, for epoll, asio, Qt. The set owns it. When it is
 * readable, wait with a timeout of 0 until SITU_EMPTY. Errors: INVALID_ARGUMENT, SYSTEM, FORKED. */
situ_status situ_wait_set_fd(situ_wait_set* set, int* fd, situ_error* error);

/* ---- Executors ----------------------------------------------------------------------------------------- */

/* Runs callbacks when their sources are ready, in that order. */
typedef struct situ_executor situ_executor;

/* Which callbacks may run at the same time. A group belongs to the executor that it is first used with. */
typedef struct situ_callback_group situ_callback_group;

/* A callback. */
typedef struct situ_callback {
  /* Runs when the source is ready, which `io` tells for a descriptor. It takes what is ready itself: one
   * message at a time is fair to other callbacks. Returns SITU_OK or SITU_EMPTY, or an error, which it writes
   * to `error` (never NULL). After SITU_ERROR_REMOVED or SITU_ERROR_FORKED the callback is removed; after
   * SITU_ERROR_HELD it runs again 10 ms later. */
  situ_status (*call)(void* context, uint32_t io, situ_error* error);
  /* Called once, when the callback was removed, or the executor is destroyed, and it does not run any more.
   * May be NULL. Not called if adding fails. */
  void (*release)(void* context);
  void* context;
  /* Not 0: it may run on several threads at once, and has to expect that another thread has taken what was
   * ready. */
  uint32_t parallel;
} situ_callback;

/* Creates an executor without callbacks. Destroy it with situ_executor_destroy when no thread spins it.
 * Errors: INVALID_ARGUMENT, FORKED. */
situ_status situ_executor_create(const situ_node* node, situ_executor** executor, situ_error* error);
void situ_executor_destroy(situ_executor* executor);

/* Creates a group. `exclusive` not 0: one callback of the group runs at a time. 0: several run at once.
 * Destroy it with situ_callback_group_destroy; callbacks keep it. Errors: INVALID_ARGUMENT. */
situ_status situ_callback_group_create(uint32_t exclusive, situ_callback_group** group, situ_error* error);
void situ_callback_group_destroy(situ_callback_group* group);

/* Adds a callback for a source. `group` may be NULL: the executor's own exclusive group. `id` may be NULL; it
 * receives the number for situ_executor_remove. The subscriber stays the caller's: destroy it after the
 * callback is released. Only the callback may use it. Errors: as for the set's functions. */
situ_status situ_executor_add_subscriber(situ_executor* executor, const situ_callback_group* group,
                                         const situ_subscriber* subscriber, const situ_callback* callback,
                                         uint64_t* id, situ_error* error);
situ_status situ_executor_add_guard_condition(situ_executor* executor, const situ_callback_group* group,
                                              const situ_guard_condition* condition,
                                              const situ_callback* callback, uint64_t* id, situ_error* error);
situ_status situ_executor_add_timer(situ_executor* executor, const situ_callback_group* group,
                                    const situ_timer* timer, const situ_callback* callback, uint64_t* id,
                                    situ_error* error);
situ_status situ_executor_add_event(situ_executor* executor, const situ_callback_group* group,
                                    const situ_event* event, const situ_callback* callback, uint64_t* id,
                                    situ_error* error);
situ_status situ_executor_add_descriptor(situ_executor* executor, const situ_callback_group* group, int fd,
                                         uint32_t io, const situ_callback* callback, uint64_t* id,
                                         situ_error* error);
/* Removes a callback. Returns 0 if there is none. A thread that runs it meanwhile finishes it. A callback may
 * remove itself. */
int32_t situ_executor_remove(situ_executor* executor, uint64_t id);

/* Sets what decides after an error of a callback: not 0 goes on, 0 ends the spin with the error. Without a
 * handler, every error ends the spin. A NULL `handle` removes it. */
void situ_executor_on_error(situ_executor* executor,
                            int32_t (*handle)(void* context, uint64_t id, const situ_error* error),
                            void* context);

/* Lets threads look for something to do for up to `limit_ns` before they sleep: see situ_wait_set_spin. 0, as
 * at the beginning: they sleep at once. */
void situ_executor_busy_wait(situ_executor* executor, uint64_t limit_ns);

/* Runs callbacks on `threads` threads, one of which is the caller's, until the executor is stopped. The other
 * threads handle no signals. Errors: those of callbacks, INVALID_ARGUMENT, SYSTEM, FORKED, BUSY if the
 * executor spins already. */
situ_status situ_executor_spin(situ_executor* executor, size_t threads, situ_error* error);
/* Runs one callback: SITU_OK, or SITU_EMPTY when the timeout passes first. Errors: as for situ_executor_spin.
 */
situ_status situ_executor_spin_once(situ_executor* executor, uint64_t timeout_ns, situ_error* error);
/* Runs each callback that is ready now once. `count` may be NULL; it receives how many ran. Errors: as for
 * situ_executor_spin. */
situ_status situ_executor_spin_some(situ_executor* executor, size_t* count, situ_error* error);
/* Ends the present spin after the callbacks that run, or the next spin if none is in progress. Callbacks,
 * other threads and signal handlers may call it. */
void situ_executor_stop(const situ_executor* executor);
/* A descriptor that is readable while a callback is ready, for other event loops. When it is readable, call
 * situ_executor_spin_some until it runs none. Errors: INVALID_ARGUMENT, SYSTEM, FORKED. */
situ_status situ_executor_fd(situ_executor* executor, int* fd, situ_error* error);

#ifdef __cplusplus
}
#endif

#endif
