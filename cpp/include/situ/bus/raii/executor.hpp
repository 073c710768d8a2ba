// Executors: run callbacks when messages come, timers are due, conditions are triggered, descriptors are
// ready.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/callback.hpp"
#include "situ/bus/raii/event.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/raii/timer.hpp"
#include "situ/bus/raii/wait_set.hpp"
#include "situ/bus/service/any_client.hpp"
#include "situ/bus/service/any_server.hpp"
#include "situ/execute.h"
#include "situ/service.h"

namespace situ {

/// Which callbacks of an executor with several threads may run at the same time. A group belongs to the
/// executor that it is first used with.
class callback_group {
 public:
  /// One callback of the group runs at a time.
  [[nodiscard]] static callback_group mutually_exclusive() { return callback_group(1); }
  /// Several callbacks of the group run at once; the same callback on one thread at a time.
  [[nodiscard]] static callback_group reentrant() { return callback_group(0); }

  /// The handle for the C interface.
  [[nodiscard]] const situ_callback_group* handle() const noexcept { return handle_.get(); }

 private:
  explicit callback_group(std::uint32_t exclusive) {
    situ_error raw;
    situ_callback_group* made = nullptr;
    detail::failed why;
    detail::succeeded(situ_callback_group_create(exclusive, &made, &raw), raw, why);
    detail::raise_if(why);
    handle_.reset(made);
  }

  detail::owner<situ_callback_group> handle_;
};

namespace detail {

/// The exception that the callback on this thread has thrown last.
inline std::exception_ptr& thrown() noexcept {
  thread_local std::exception_ptr exception;
  return exception;
}

/// Tells C about a failed callback.
inline situ_status report(situ_error* raw, int status, std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), sizeof(raw->text) - 1);
  raw->status = status;
  std::memcpy(raw->text, text.data(), size);
  raw->text[size] = '\0';
  return static_cast<situ_status>(status);
}

/// Runs what may throw or fail, and tells C how it ended.
template <class Run>
situ_status run_callback(Run& run, std::uint32_t ready, situ_error* raw) noexcept {
  failed why;
#if SITU_HAS_EXCEPTIONS
  thrown() = nullptr;
  try {
    run(ready, why);
  } catch (const error& caught) {
    thrown() = std::current_exception();
    return report(raw, static_cast<int>(caught.code()), caught.what());
  } catch (const std::exception& caught) {
    thrown() = std::current_exception();
    return report(raw, SITU_ERROR_INTERNAL, caught.what());
  } catch (...) {
    thrown() = std::current_exception();
    return report(raw, SITU_ERROR_INTERNAL, "the callback threw something that is no std::exception");
  }
#else
  run(ready, why);
#endif
  if (why.has_value()) return report(raw, static_cast<int>(why->code()), why->what());
  return SITU_OK;
}

}  // namespace detail

/// Runs callbacks in the order in which their sources become ready, each with one message:
///
///   situ::executor executor(node);
///   executor.subscribe(node.subscriber<Scan>("scans"), [](situ::sample<Scan> scan) { ... });
///   situ::timer tick(100ms);
///   executor.add(tick, [](situ::timer_call call) { ... });
///   executor.spin();
///
/// A callback returns nothing, or a `situ::result<void, situ::error>`. An exception, an error, or a message
/// that cannot be taken goes to the handler (`on_error`). Without one, it ends the spin, which throws it.
class executor {
 public:
  explicit executor(const node& on) {
    detail::failed why;
    create(on, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<executor, error> try_create(const node& on) {
    detail::failed why;
    executor made;
    made.create(on, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Calls `callback` with each message of a subscriber, which the executor then owns.
  template <std::derived_from<any_subscriber> Subscriber, class Callback>
  source_id subscribe(Subscriber subscriber, Callback callback) {
    return subscribe_in(nullptr, std::move(subscriber), std::move(callback));
  }
  template <std::derived_from<any_subscriber> Subscriber, class Callback>
  source_id subscribe(const callback_group& group, Subscriber subscriber, Callback callback) {
    return subscribe_in(group.handle(), std::move(subscriber), std::move(callback));
  }
  /// Calls `callback` on any number of threads at once, each with its message.
  template <std::derived_from<any_subscriber> Subscriber, class Callback>
  source_id subscribe_parallel(Subscriber subscriber, Callback callback) {
    auto shared = std::make_shared<std::pair<std::mutex, Subscriber>>(
        std::piecewise_construct, std::tuple<>(), std::tuple(std::move(subscriber)));
    const situ_subscriber* handle = shared->second.handle();
    auto run = [shared, callback = std::move(callback)](std::uint32_t, detail::failed& why) mutable {
      auto taken = [&] {
        const std::lock_guard lock(shared->first);
        return shared->second.try_take();
      }();
      deliver(std::move(taken), callback, why);
    };
    return subscriber_callback(nullptr, handle, std::move(run), true);
  }

  /// Calls `callback(situ::timer_call)` when a timer is due.
  template <class Callback>
  source_id add(const timer& source, Callback callback) {
    return add_timer(nullptr, source, std::move(callback));
  }
  template <class Callback>
  source_id add(const callback_group& group, const timer& source, Callback callback) {
    return add_timer(group.handle(), source, std::move(callback));
  }
  /// Calls `callback(Status)` whenever the status of an event has changed.
  template <class Status, class Callback>
  source_id add(const event<Status>& source, Callback callback) {
    return add_event(nullptr, source, std::move(callback));
  }
  template <class Status, class Callback>
  source_id add(const callback_group& group, const event<Status>& source, Callback callback) {
    return add_event(group.handle(), source, std::move(callback));
  }
  /// Calls `callback()` after a condition was triggered.
  template <class Callback>
  source_id add(const guard_condition& source, Callback callback) {
    return add_condition(nullptr, source, std::move(callback));
  }
  template <class Callback>
  source_id add(const callback_group& group, const guard_condition& source, Callback callback) {
    return add_condition(group.handle(), source, std::move(callback));
  }
  /// Calls `callback(situ::ready_source)` as long as a descriptor is ready. It must stay open until the
  /// callback is removed.
  template <class Callback>
  source_id add(int fd, io wanted, Callback callback) {
    return add_descriptor(nullptr, fd, wanted, std::move(callback));
  }
  template <class Callback>
  source_id add(const callback_group& group, int fd, io wanted, Callback callback) {
    return add_descriptor(group.handle(), fd, wanted, std::move(callback));
  }
  /// Calls `callback()` as long as a subscriber has something to take, which the callback takes. The
  /// subscriber stays the caller's.
  template <class Callback>
  source_id add(any_subscriber& source, Callback callback) {
    auto run = [callback = std::move(callback)](std::uint32_t, detail::failed& why) mutable {
      detail::invoke_callback(callback, why);
    };
    return subscriber_callback(nullptr, source.handle(), std::move(run), false);
  }

  /// Answers the requests of a server, which the executor then owns. `answer` is called in one of two ways:
  ///
  ///   P answer(const request<Q>&)      returns the reply, a `result<P, situ::refusal>`, or the `Outcome` of
  ///                                    an operation that raises exceptions. A client that has ended is
  ///                                    passed over, and so is one that has no room for 50 ms.
  ///   void answer(server&, request<Q>) answers itself, now or later, in one or more parts; or returns
  ///                                    a `result<void, error>`.
  template <std::derived_from<any_server> Server, class Answer>
  source_id serve(Server server, Answer answer) {
    return serve_in(nullptr, std::move(server), std::move(answer));
  }
  template <std::derived_from<any_server> Server, class Answer>
  source_id serve(const callback_group& group, Server server, Answer answer) {
    return serve_in(group.handle(), std::move(server), std::move(answer));
  }
  /// Delivers the replies to a client: resumes coroutines and calls callbacks, as its `dispatch` does. The
  /// client stays the caller's: use it in callbacks of the same group. If the client is destroyed, it leaves
  /// the service when this callback is removed.
  source_id add(const any_client& client) { return add_client(nullptr, client); }
  source_id add(const callback_group& group, const any_client& client) {
    return add_client(group.handle(), client);
  }

  /// Removes a callback. Returns whether it was there. A thread that runs it meanwhile finishes it.
  bool remove(source_id id) noexcept {
    return situ_executor_remove(handle_.get(), static_cast<std::uint64_t>(id)) != 0;
  }

  /// Lets `handler(source_id, const situ::error&)` decide after an error: true goes on, false ends the spin.
  /// It must not throw.
  void on_error(std::function<bool(source_id, const error&)> handler) {
    const std::lock_guard lock(state_->mutex);
    state_->handler = std::move(handler);
  }

  /// Lets threads look for something to do for up to `limit` before they sleep. They look only if the last
  /// waits were shorter than the limit. Zero, as at the beginning: they sleep at once.
  void busy_wait(std::chrono::nanoseconds limit) noexcept {
    situ_executor_busy_wait(handle_.get(), detail::limit_of(limit));
  }

  /// Runs callbacks on this thread, and on `threads - 1` others, until the executor is stopped. The other
  /// threads handle no signals.
  void spin(std::size_t threads = 1) {
    situ_error raw;
    finish(situ_executor_spin(handle_.get(), threads, &raw), raw);
  }
  /// As `spin`, without an exception.
  [[nodiscard]] result<void, error> try_spin(std::size_t threads = 1) {
    situ_error raw;
    detail::failed why;
    detail::succeeded(situ_executor_spin(handle_.get(), threads, &raw), raw, why);
    (void)ended();
    if (why.has_value()) return failure{*std::move(why)};
    return {};
  }
  /// Runs one callback. Returns false if the timeout passes first.
  bool spin_once(std::chrono::nanoseconds timeout = forever) {
    situ_error raw;
    const situ_status status = situ_executor_spin_once(handle_.get(), detail::limit_of(timeout), &raw);
    finish(status, raw);
    return status == SITU_OK;
  }
  /// Runs each callback that is ready now once. Returns how many ran.
  std::size_t spin_some() {
    situ_error raw;
    std::size_t count = 0;
    finish(situ_executor_spin_some(handle_.get(), &count, &raw), raw);
    return count;
  }

  /// Ends the present spin after the callbacks that run, or the next spin if none is in progress. Callbacks,
  /// other threads and signal handlers may call it.
  void stop() const noexcept { situ_executor_stop(handle_.get()); }

  /// A descriptor that is readable while a callback is ready, for other event loops. When it is readable,
  /// call `spin_some` until it runs none.
  [[nodiscard]] int fd() {
    situ_error raw;
    detail::failed why;
    int made = -1;
    detail::succeeded(situ_executor_fd(handle_.get(), &made, &raw), raw, why);
    detail::raise_if(why);
    return made;
  }

  /// The handle for the C interface.
  [[nodiscard]] situ_executor* handle() const noexcept { return handle_.get(); }

 private:
  /// What the handler for C uses. It stays where it is when the executor is moved.
  struct state {
    std::mutex mutex;
    std::function<bool(source_id, const error&)> handler;
    /// The exception that ended the spin.
    std::exception_ptr ended;

    static std::int32_t handle(void* context, std::uint64_t id, const situ_error* raw) noexcept {
      auto& self = *static_cast<state*>(context);
      const std::lock_guard lock(self.mutex);
      const error what(static_cast<errc>(raw->status), raw->text);
      if (self.handler && self.handler(source_id{id}, what)) return 1;
      if (!self.ended) self.ended = detail::thrown();
      return 0;
    }
  };

  /// A callback, as C calls it.
  template <class Run>
  struct code {
    Run run;

    static situ_status call(void* context, std::uint32_t ready, situ_error* raw) noexcept {
      return detail::run_callback(static_cast<code*>(context)->run, ready, raw);
    }
    static void release(void* context) noexcept { delete static_cast<code*>(context); }
  };

  executor() = default;

  void create(const node& on, detail::failed& why) {
    situ_error raw;
    situ_executor* made = nullptr;
    if (!detail::succeeded(situ_executor_create(on.handle(), &made, &raw), raw, why)) return;
    state_ = std::make_unique<state>();
    handle_.reset(made);
    situ_executor_on_error(made, &state::handle, state_.get());
  }

  /// Calls back with what was taken.
  template <class Taken, class Callback>
  static void deliver(Taken taken, Callback& callback, detail::failed& why) {
    if (!taken) {
      why.emplace(taken.error());
    } else if (taken->has_value()) {
      detail::invoke_callback(callback, why, std::move(**taken));
    }
  }

  /// Passes a callback to C, which owns it from here on.
  template <class Run, class Add>
  static source_id added(Run run, bool parallel, Add add) {
    auto* context = new code<Run>{std::move(run)};
    const situ_callback callback{&code<Run>::call, &code<Run>::release, context, parallel ? 1U : 0U};
    situ_error raw;
    detail::failed why;
    std::uint64_t id = 0;
    detail::succeeded(add(&callback, &id, &raw), raw, why);
    detail::raise_if(why);
    return source_id{id};
  }

  template <class Run>
  source_id subscriber_callback(const situ_callback_group* group, const situ_subscriber* handle, Run run,
                                bool parallel) {
    return added(std::move(run), parallel,
                 [&](const situ_callback* callback, std::uint64_t* id, situ_error* raw) {
                   return situ_executor_add_subscriber(handle_.get(), group, handle, callback, id, raw);
                 });
  }

  template <class Subscriber, class Callback>
  source_id subscribe_in(const situ_callback_group* group, Subscriber subscriber, Callback callback) {
    const situ_subscriber* handle = subscriber.handle();
    auto run = [subscriber = std::move(subscriber), callback = std::move(callback)](
                   std::uint32_t, detail::failed& why) mutable {
      deliver(subscriber.try_take(), callback, why);
    };
    return subscriber_callback(group, handle, std::move(run), false);
  }

  template <class Server, class Answer>
  source_id serve_in(const situ_callback_group* group, Server server, Answer answer) {
    const situ_server* handle = server.handle();
    auto run = [server = std::move(server), answer = std::move(answer)](std::uint32_t,
                                                                        detail::failed& why) mutable {
      if (auto taken = server.take_next(why); taken) server.answer_with(answer, *std::move(taken), why);
    };
    return added(std::move(run), false, [&](const situ_callback* made, std::uint64_t* id, situ_error* raw) {
      return situ_executor_add_server(handle_.get(), group, handle, made, id, raw);
    });
  }

  source_id add_client(const situ_callback_group* group, const any_client& client) {
    auto run = [core = client.core_](std::uint32_t, detail::failed& why) { core->dispatch(why); };
    return added(std::move(run), false, [&](const situ_callback* made, std::uint64_t* id, situ_error* raw) {
      return situ_executor_add_client(handle_.get(), group, client.handle(), made, id, raw);
    });
  }

  template <class Callback>
  source_id add_timer(const situ_callback_group* group, const timer& source, Callback callback) {
    auto run = [source, callback = std::move(callback)](std::uint32_t, detail::failed& why) mutable {
      detail::invoke_callback(callback, why, source.last_call());
    };
    return added(std::move(run), false, [&](const situ_callback* made, std::uint64_t* id, situ_error* raw) {
      return situ_executor_add_timer(handle_.get(), group, source.handle(), made, id, raw);
    });
  }

  template <class Status, class Callback>
  source_id add_event(const situ_callback_group* group, const event<Status>& source, Callback callback) {
    auto run = [source, callback = std::move(callback)](std::uint32_t, detail::failed& why) mutable {
      detail::invoke_callback(callback, why, source.take());
    };
    return added(std::move(run), false, [&](const situ_callback* made, std::uint64_t* id, situ_error* raw) {
      return situ_executor_add_event(handle_.get(), group, source.handle(), made, id, raw);
    });
  }

  template <class Callback>
  source_id add_condition(const situ_callback_group* group, const guard_condition& source,
                          Callback callback) {
    auto run = [callback = std::move(callback)](std::uint32_t, detail::failed& why) mutable {
      detail::invoke_callback(callback, why);
    };
    return added(std::move(run), false, [&](const situ_callback* made, std::uint64_t* id, situ_error* raw) {
      return situ_executor_add_guard_condition(handle_.get(), group, source.handle(), made, id, raw);
    });
  }

  template <class Callback>
  source_id add_descriptor(const situ_callback_group* group, int fd, io wanted, Callback callback) {
    auto run = [callback = std::move(callback)](std::uint32_t ready, detail::failed& why) mutable {
      detail::invoke_callback(callback, why, ready_source(situ_ready{0, ready}));
    };
    return added(std::move(run), false, [&](const situ_callback* made, std::uint64_t* id, situ_error* raw) {
      return situ_executor_add_descriptor(handle_.get(), group, fd, static_cast<std::uint32_t>(wanted), made,
                                          id, raw);
    });
  }

  /// Takes the exception that ended the last spin.
  std::exception_ptr ended() noexcept {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->ended, nullptr);
  }

  /// Throws what ended a spin: the callback's own exception, if it threw one.
  void finish(situ_status status, const situ_error& raw) {
    const std::exception_ptr thrown = ended();
#if SITU_HAS_EXCEPTIONS
    if (thrown) std::rethrow_exception(thrown);
#endif
    detail::failed why;
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
  }

  // The executor is destroyed first: it calls the handler until then.
  std::unique_ptr<state> state_;
  detail::owner<situ_executor> handle_;
};

}  // namespace situ
