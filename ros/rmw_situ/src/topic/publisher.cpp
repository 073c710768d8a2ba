// Publishing: a plain message is copied into the slot, or lies there from the beginning; any other is written
// there once, in the form in which receivers can point into it.
#include "topic/publisher.hpp"

#include <algorithm>
#include <cstring>

#include "types/transfer.hpp"

namespace rmw_situ {

rmw_ret_t Publisher::lend(size_t head, size_t body, situ_loan* loan) {
  situ_error error;
  const std::lock_guard lock(mutex);
  if (situ_publisher_loan(handle.get(), head, 64, body, loan, &error) == SITU_OK) return RMW_RET_OK;
  return failed("cannot lend memory for a message of type", type.ros_name().c_str(), error);
}

rmw_ret_t Publisher::send(situ_loan* loan) {
  situ_error error;
  const std::lock_guard lock(mutex);
  if (situ_loan_publish(loan, nullptr, &error) == SITU_OK) return RMW_RET_OK;
  situ_loan_discard(loan);
  return failed("cannot publish a message of type", type.ros_name().c_str(), error);
}

rmw_ret_t Publisher::copy_to(situ_loan* loan, std::span<const std::byte> bytes) {
  if (loan->body != nullptr) {
    std::memcpy(loan->body, bytes.data(), bytes.size());
    return RMW_RET_OK;
  }
  situ_error error;
  // The bytes may change when this returns.
  if (situ_stream_write(stream.get(), bytes.data(), loan, 0, bytes.size(), &error) == SITU_OK &&
      situ_stream_synchronize(stream.get(), SITU_FOREVER, &error) == SITU_OK) {
    return RMW_RET_OK;
  }
  const std::lock_guard lock(mutex);
  situ_loan_discard(loan);
  return failed("cannot copy to its memory domain a message of type", type.ros_name().c_str(), error);
}

rmw_ret_t Publisher::publish_to_device(const void* message) {
  std::vector<std::byte> bytes(type.cdr_size(message));
  if (!type.write_cdr(message, bytes)) return RMW_RET_ERROR;
  situ_loan loan;
  rmw_ret_t ret = lend(0, bytes.size(), &loan);
  if (ret == RMW_RET_OK) ret = copy_to(&loan, bytes);
  return ret == RMW_RET_OK ? send(&loan) : ret;
}

rmw_ret_t Publisher::publish(const void* message) {
  if (stream && !type.is_plain()) return publish_to_device(message);
  const auto lend = [this](size_t head, size_t body, situ_loan* loan, situ_error* error) {
    const std::lock_guard lock(mutex);
    return situ_publisher_loan(handle.get(), head, 64, body, loan, error);
  };
  const auto discard = [this](situ_loan* loan) {
    const std::lock_guard lock(mutex);
    situ_loan_discard(loan);
  };
  situ_loan loan;
  const rmw_ret_t ret = write_message(type, message, lend, discard, &loan);
  return ret == RMW_RET_OK ? send(&loan) : ret;
}

rmw_ret_t Publisher::publish_cdr(std::span<const std::byte> bytes) {
  // Little-endian XCDR1 goes as it is; subscriptions check it.
  constexpr std::byte little[2] = {std::byte{0}, std::byte{1}};
  const bool is_little = bytes.size() >= 4 && std::memcmp(bytes.data(), little, 2) == 0;
  if (!is_little || type.is_plain()) {
    std::vector<std::max_align_t> memory(type.size() / sizeof(std::max_align_t) + 1);
    void* const message = memory.data();
    if (!type.init(message)) return RMW_RET_BAD_ALLOC;
    const rmw_ret_t ret = type.read_cdr(bytes, message) ? publish(message) : RMW_RET_ERROR;
    type.fini(message);
    return ret;
  }
  situ_loan loan;
  rmw_ret_t ret = lend(0, bytes.size(), &loan);
  if (ret == RMW_RET_OK) ret = copy_to(&loan, bytes);
  return ret == RMW_RET_OK ? send(&loan) : ret;
}

Publisher::~Publisher() {
  events.clear();
  // Arrays of lent messages that the user has kept may be freed meanwhile.
  const std::lock_guard lock(mutex);
  // A publisher with loans would stay on its topic.
  for (situ_loan& loan : borrowed_) situ_loan_discard(&loan);
  handle.reset();
}

SlotLender Publisher::slot_lender() {
  return {
      [this](size_t body, situ_loan* loan, situ_error* error) {
        const std::lock_guard lock(mutex);
        return situ_publisher_loan(handle.get(), 0, 64, body, loan, error);
      },
      [mutex = shared_mutex](situ_loan* loan) {
        const std::lock_guard lock(*mutex);
        situ_loan_discard(loan);
      },
      [this](situ_loan* loan) { return send(loan); },
      [this](const void* message) { return publish(message); },
  };
}

rmw_ret_t Publisher::borrow(void** message) {
  if (!type.is_plain()) return loans_.borrow(message);
  situ_loan loan;
  const rmw_ret_t ret = lend(type.size(), 0, &loan);
  if (ret != RMW_RET_OK) return ret;
  blank->write(loan.head);
  const std::lock_guard lock(mutex);
  try {
    borrowed_.push_back(loan);
  } catch (...) {
    situ_loan_discard(&loan);
    throw;
  }
  *message = loan.head;
  return RMW_RET_OK;
}

bool Publisher::find_borrowed(void* message, situ_loan* loan) {
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::find(borrowed_, message, &situ_loan::head);
  if (found == borrowed_.end()) {
    RMW_SET_ERROR_MSG("the message was not lent by this publisher, or was published or returned already");
    return false;
  }
  *loan = *found;
  borrowed_.erase(found);
  return true;
}

rmw_ret_t Publisher::publish_borrowed(void* message) {
  if (!type.is_plain()) return loans_.publish(message);
  situ_loan loan;
  if (!find_borrowed(message, &loan)) return RMW_RET_INVALID_ARGUMENT;
  type.normalize_plain(loan.head);
  return send(&loan);
}

rmw_ret_t Publisher::give_back(void* message) {
  if (!type.is_plain()) return loans_.give_back(message);
  situ_loan loan;
  if (!find_borrowed(message, &loan)) return RMW_RET_INVALID_ARGUMENT;
  const std::lock_guard lock(mutex);
  situ_loan_discard(&loan);
  return RMW_RET_OK;
}

}  // namespace rmw_situ
