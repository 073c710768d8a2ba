// Lent messages with strings and sequences: messages in private memory, whose large arrays may lie in slots.
#pragma once

#include <rmw/types.h>
#include <situ.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "types/message_type.hpp"

namespace rmw_situ {

// What a publisher lends slots with. `discard` may be called after the publisher's end, all others may not.
struct SlotLender {
  std::function<situ_status(size_t body, situ_loan* loan, situ_error* error)> lend;
  std::function<void(situ_loan* loan)> discard;
  // Publishes the loan, or discards it on failure.
  std::function<rmw_ret_t(situ_loan* loan)> send;
  // Copies the message into a slot, and publishes it.
  std::function<rmw_ret_t(const void* message)> publish;
};

// A message that is lent, and the slots that its arrays were allocated in.
//
// The bytes of a slot are those of the message in CDR. An array is allocated where the message has it, by
// what the message holds at that time, so when the message is published, only the bytes around the array are
// written. If a member before it has changed its size meanwhile, the message is copied as any other.
class LentMessage;

// The lent messages of a publisher. All threads may use it at once.
class MessageLoans {
 public:
  MessageLoans(const MessageType& type, SlotLender lender)
      : type_(type), lender_(std::make_shared<const SlotLender>(std::move(lender))) {}
  MessageLoans(const MessageLoans&) = delete;
  ~MessageLoans();

  // Lends a message that has its defaults. The calling thread allocates its arrays until it is published or
  // returned, or the thread is lent another.
  rmw_ret_t borrow(void** message);
  rmw_ret_t publish(void* message);
  rmw_ret_t give_back(void* message);

 private:
  std::shared_ptr<LentMessage> remove(void* message);

  const MessageType& type_;
  // Arrays that the user has kept need it when they are freed.
  const std::shared_ptr<const SlotLender> lender_;
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<LentMessage>> lent_;
};

}  // namespace rmw_situ
