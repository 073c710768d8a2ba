// The loan of a region: a message that grows while it is built, in the slot in which subscribers read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/region/region_loan.hpp"
#include "situ/bus/typed/loan.hpp"
#include "situ/region.hpp"

namespace situ {

template <message T>
class publisher;

/// A region under construction in the memory in which subscribers read it. It is published, or returned on
/// destruction. Belongs to the thread of its publisher, which must outlive it.
///
/// `loan->skills.emplace_back(1054, 3)` works in the slot that was lent.
template <region_message T>
class loan<T> : public detail::region_loan<T> {
 public:
  /// Publishes the live image of the region, and returns the message's number in the topic's order. After an
  /// exception the loan is still valid.
  std::uint64_t publish() {
    detail::failed why;
    const std::uint64_t sequence = publish(why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  [[nodiscard]] result<std::uint64_t, error> try_publish() {
    detail::failed why;
    std::uint64_t sequence = publish(why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

 private:
  template <message>
  friend class publisher;
  using detail::region_loan<T>::region_loan;
  using detail::region_loan<T>::raw_;

  std::uint64_t publish(detail::failed& why) {
    const std::size_t size = this->trim();
    const std::uint64_t sequence = raw_.publish(why);
    if (!why) this->finish(size);
    return sequence;
  }
};

}  // namespace situ
