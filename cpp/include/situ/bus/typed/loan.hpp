// A loan: a message under construction, in the memory in which subscribers read it.
#pragma once

#include <cstdint>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/typed/flat_loan.hpp"
#include "situ/layout/message.hpp"

namespace situ {

/// A message under construction. It is published, or returned on destruction. Belongs to the thread of its
/// publisher, and may outlive the publisher.
template <message T>
class loan : public detail::flat_loan<T> {
 public:
  /// Publishes now. The message is complete once the stream has passed all work enqueued so far; the call
  /// does not wait for that, but subscribers do. After an exception the loan is still valid.
  std::uint64_t publish_on(const stream& work) {
    detail::failed why;
    const std::uint64_t sequence = raw_.publish_on(work, why);
    detail::raise_if(why);
    return sequence;
  }
  /// The fence that completes the body, for streams of other libraries: enqueue a write of `value` to
  /// the word after the work that fills the body, then call `publish_signalled`.
  [[nodiscard]] situ::fence fence() {
    detail::failed why;
    const situ::fence found = raw_.fence(why);
    detail::raise_if(why);
    return found;
  }
  std::uint64_t publish_signalled() {
    detail::failed why;
    const std::uint64_t sequence = raw_.publish_signalled(why);
    detail::raise_if(why);
    return sequence;
  }

  /// Publishes the message and returns its number in the topic's order, from 0. After an exception the loan
  /// is still valid.
  std::uint64_t publish() {
    detail::failed why;
    const std::uint64_t sequence = raw_.publish(why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  [[nodiscard]] result<std::uint64_t, error> try_publish() {
    detail::failed why;
    std::uint64_t sequence = raw_.publish(why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

 private:
  template <message>
  friend class publisher;
  loan() noexcept = default;

  using detail::flat_loan<T>::raw_;
};

}  // namespace situ
