// Lent messages with strings and sequences, and the functions of rmw_situ/loan_allocator.hpp.
#include "topic/message_loans.hpp"

#include <rmw/error_handling.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "rmw_situ/loan_allocator.hpp"
#include "support/check.hpp"

namespace rmw_situ {
namespace {

// A slot with an array.
struct Slot {
  std::shared_ptr<const SlotLender> lender;
  situ_loan loan;
  // From the beginning of the body to the array.
  size_t place;
  // Of the array.
  size_t size;
};

// The arrays and the lent messages of the process, by their addresses.
class Registry {
 public:
  static Registry& get() {
    // Never destroyed: threads may free arrays while the program ends.
    static auto& registry = *new Registry;
    return registry;
  }

  void add(const void* array, Slot slot) {
    const std::lock_guard lock(mutex_);
    slots_.emplace(array, std::move(slot));
  }
  std::optional<Slot> remove(const void* array) {
    const std::lock_guard lock(mutex_);
    const auto found = slots_.find(array);
    if (found == slots_.end()) return std::nullopt;
    std::optional<Slot> slot(std::move(found->second));
    slots_.erase(found);
    return slot;
  }
  // The place and the size of an array in a slot of this lender, and the size of the slot's body. Zeroes if
  // it is none.
  struct Extent {
    size_t place, size, body;
  };
  Extent find(const void* array, const std::shared_ptr<const SlotLender>& lender) {
    const std::lock_guard lock(mutex_);
    const auto found = slots_.find(array);
    if (found == slots_.end() || found->second.lender != lender) return {0, 0, 0};
    return {found->second.place, found->second.size, found->second.loan.body_size};
  }

  void add(const void* message, std::weak_ptr<LentMessage> lent) {
    const std::lock_guard lock(mutex_);
    messages_.insert_or_assign(message, std::move(lent));
  }
  void remove_message(const void* message) {
    const std::lock_guard lock(mutex_);
    messages_.erase(message);
  }
  std::shared_ptr<LentMessage> find_message(const void* message) {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(message);
    return found == messages_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, Slot> slots_;
  std::unordered_map<const void*, std::weak_ptr<LentMessage>> messages_;
};

// Frees the slot of an array, if it is one.
bool release(const void* array) {
  std::optional<Slot> slot = Registry::get().remove(array);
  if (slot) slot->lender->discard(&slot->loan);
  return slot.has_value();
}

// For what comes behind the array, and is not there yet when it is allocated.
constexpr size_t spare = 4096;

thread_local std::weak_ptr<LentMessage> message_of_thread;

}  // namespace

class LentMessage {
 public:
  LentMessage(const MessageType& type, std::shared_ptr<const SlotLender> lender)
      : type_(type), lender_(std::move(lender)) {
    memory_ = ::operator new(type.size(), alignment());
    if (!type.init(memory_)) {
      ::operator delete(memory_, alignment());
      throw std::bad_alloc();
    }
  }
  LentMessage(const LentMessage&) = delete;
  ~LentMessage() {
    Registry::get().remove_message(memory_);
    // What lies in a slot is nothing that the message's destructor may free.
    type_.forget_elements(memory_, [&](const void* array) { return array == published_ || release(array); });
    type_.fini(memory_);
    ::operator delete(memory_, alignment());
  }

  void* memory() { return memory_; }

  // NULL if the array cannot be where the message will have it.
  void* allocate(size_t size, size_t alignment) {
    const size_t place = type_.place_of_array(memory_, size, alignment);
    if (place == 0) return nullptr;
    const size_t other = type_.cdr_size(memory_) + spare;
    situ_loan loan;
    situ_error error;
    if (lender_->lend(place + size + other, &loan, &error) != SITU_OK) return nullptr;
    // On a device, the program could not write to it. CDR may have numbers where a vector cannot have them.
    if (loan.body == nullptr || (reinterpret_cast<uintptr_t>(loan.body) + place) % alignment != 0) {
      lender_->discard(&loan);
      return nullptr;
    }
    void* const array = static_cast<std::byte*>(loan.body) + place;
    try {
      arrays_.push_back(array);
      Registry::get().add(array, {lender_, loan, place, size});
    } catch (...) {
      lender_->discard(&loan);
      throw;
    }
    return array;
  }

  // The largest array that lies where the message has it, in a slot with room for the message. NULL if there
  // is none.
  const void* find_in_place() const {
    const size_t total = type_.cdr_size(memory_);
    const void* best = nullptr;
    size_t best_size = 0;
    for (const void* array : arrays_) {
      const auto [place, size, body] = Registry::get().find(array, lender_);
      if (size > best_size && total <= body && type_.place_of_elements(memory_, array) == place) {
        best = array;
        best_size = size;
      }
    }
    return best;
  }

  rmw_ret_t publish() {
    const void* const array = find_in_place();
    std::optional<Slot> slot = array == nullptr ? std::nullopt : Registry::get().remove(array);
    if (!slot) return lender_->publish(memory_);
    published_ = array;
    const size_t total = type_.cdr_size(memory_);
    if (!type_.write_cdr(memory_, {static_cast<std::byte*>(slot->loan.body), total})) {
      lender_->discard(&slot->loan);
      return RMW_RET_ERROR;
    }
    slot->loan.body_size = total;
    return lender_->send(&slot->loan);
  }

 private:
  std::align_val_t alignment() const { return std::align_val_t(std::max<size_t>(type_.alignment(), 16)); }

  const MessageType& type_;
  const std::shared_ptr<const SlotLender> lender_;
  void* memory_;
  // What was allocated for it; some may be freed already.
  std::vector<const void*> arrays_;
  const void* published_ = nullptr;
};

MessageLoans::~MessageLoans() = default;

rmw_ret_t MessageLoans::borrow(void** message) {
  auto lent = std::make_shared<LentMessage>(type_, lender_);
  Registry::get().add(lent->memory(), lent);
  message_of_thread = lent;
  *message = lent->memory();
  const std::lock_guard lock(mutex_);
  lent_.emplace(*message, std::move(lent));
  return RMW_RET_OK;
}

std::shared_ptr<LentMessage> MessageLoans::remove(void* message) {
  const std::lock_guard lock(mutex_);
  const auto found = lent_.find(message);
  if (found == lent_.end()) {
    RMW_SET_ERROR_MSG("the message was not lent by this publisher, or was published or returned already");
    return nullptr;
  }
  std::shared_ptr<LentMessage> lent = std::move(found->second);
  lent_.erase(found);
  return lent;
}

rmw_ret_t MessageLoans::publish(void* message) {
  const std::shared_ptr<LentMessage> lent = remove(message);
  return lent ? lent->publish() : RMW_RET_INVALID_ARGUMENT;
}

rmw_ret_t MessageLoans::give_back(void* message) {
  return remove(message) ? RMW_RET_OK : RMW_RET_INVALID_ARGUMENT;
}

namespace {

void* allocate_lent(size_t size, size_t alignment) try {
  const std::shared_ptr<LentMessage> lent = message_of_thread.lock();
  return lent ? lent->allocate(size, alignment) : nullptr;
} catch (const std::exception&) {
  return nullptr;
}

int free_lent(void* memory) { return release(memory); }

int is_lent_in_place(const void* message) try {
  const std::shared_ptr<LentMessage> lent = Registry::get().find_message(message);
  return lent && lent->find_in_place() != nullptr;
} catch (const std::exception&) {
  return 0;
}

}  // namespace
}  // namespace rmw_situ

extern "C" {

// What programs look up by name (rmw_situ/loan_allocator.hpp).
extern const rmw_situ::detail::LoanFunctions rmw_situ_loan_functions;
const rmw_situ::detail::LoanFunctions rmw_situ_loan_functions = {rmw_situ::allocate_lent, rmw_situ::free_lent,
                                                                 rmw_situ::is_lent_in_place};

}  // extern "C"
