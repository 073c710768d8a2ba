// An allocator with which large arrays of lent messages lie in shared memory from the beginning, so that
// publishing them copies nothing.
//
//   using Image = sensor_msgs::msg::Image_<rmw_situ::LoanAllocator<void>>;
//
//   auto loaned = publisher->borrow_loaned_message();  // of a publisher of sensor_msgs::msg::Image
//   auto& image = rmw_situ::loaned<Image>(loaned.get());
//   image.header.frame_id = "camera";  // strings first: the array lies behind them
//   image.encoding = "rgb8";
//   image.data.resize(size);           // in shared memory, and not filled with zeroes
//   camera.read(image.data.data());
//   publisher->publish(std::move(loaned));
//
// The allocator is stateless, so Image_<LoanAllocator<void>> lies in memory as sensor_msgs::msg::Image does.
// Arrays of numbers are served, from 4 KiB on, while the thread has a lent message. All else comes from the
// heap: small arrays, other threads, and programs that run on another middleware. Such a message is published
// as well, with one copy. So it is if a member before the array changes its size after the array was
// allocated; `rmw_situ::is_in_place` tells.
//
// Before a thread passes a message that it was lent on to another one, it allocates all arrays: as long as
// the message is neither published nor returned, each array that the first thread allocates looks into the
// message for its place.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rmw_situ {
namespace detail {

// Functions of librmw_situ, if that is the middleware of this process. It is loaded before the first message
// is lent, and is never unloaded.
struct LoanFunctions {
  void* (*allocate)(std::size_t size, std::size_t alignment);
  int (*deallocate)(void* memory);
  int (*is_in_place)(const void* message);
};

inline const LoanFunctions* loan_functions() noexcept {
  static std::atomic<const LoanFunctions*> known{nullptr};
  const LoanFunctions* functions = known.load(std::memory_order_acquire);
  if (functions != nullptr) return functions;
  constexpr const char* name = "rmw_situ_loan_functions";
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    // The loader of middleware keeps its symbols local.
    void* const library = dlopen("librmw_situ.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    found = dlsym(library, name);
    if (found == nullptr) return nullptr;
  }
  functions = static_cast<const LoanFunctions*>(found);
  known.store(functions, std::memory_order_release);
  return functions;
}

// Smaller arrays are copied in less time than it takes to lend memory.
constexpr std::size_t least_lent = 4096;

}  // namespace detail

template <class T>
class LoanAllocator {
 public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;

  LoanAllocator() noexcept = default;
  template <class U>
  LoanAllocator(const LoanAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (is_lent(count)) {
      if (const detail::LoanFunctions* functions = detail::loan_functions()) {
        if (void* memory = functions->allocate(count * sizeof(T), alignof(T))) return static_cast<T*>(memory);
      }
    }
    return std::allocator<T>().allocate(count);
  }

  void deallocate(T* memory, std::size_t count) noexcept {
    if (is_lent(count)) {
      const detail::LoanFunctions* functions = detail::loan_functions();
      if (functions != nullptr && functions->deallocate(memory) != 0) return;
    }
    std::allocator<T>().deallocate(memory, count);
  }

  // `resize` leaves numbers as they are: filling an array with zeroes would cost as much as the copy that the
  // loan saves.
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0 && std::is_arithmetic_v<U>) {
      ::new (static_cast<void*>(at)) U;
    } else {
      ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
  }

  template <class U>
  bool operator==(const LoanAllocator<U>&) const noexcept {
    return true;
  }
  template <class U>
  bool operator!=(const LoanAllocator<U>&) const noexcept {
    return false;
  }

 private:
  // Neither are the characters of strings, nor the words of std::vector<bool>, which are those of uint64,
  // too: a message has them in another form.
  static constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, char> &&
                                    !std::is_same_v<T, char16_t> && !std::is_same_v<T, unsigned long>;
  static constexpr bool is_lent(std::size_t count) noexcept {
    // More than any array may have is refused by std::allocator.
    return is_number && count >= detail::least_lent / sizeof(T) && count <= PTRDIFF_MAX / sizeof(T);
  }
};

// For names of message types: `Image_<LoanAllocator<void>>`.
template <>
class LoanAllocator<void> {
 public:
  using value_type = void;
  LoanAllocator() noexcept = default;
  template <class U>
  LoanAllocator(const LoanAllocator<U>&) noexcept {}
};

// A lent message as the type with this allocator.
template <class Loaned, class Message>
Loaned& loaned(Message& message) noexcept {
  static_assert(sizeof(Loaned) == sizeof(Message) && alignof(Loaned) == alignof(Message),
                "Loaned must be the type of the message with LoanAllocator");
  return reinterpret_cast<Loaned&>(message);
}

// Whether publishing this lent message copies none of its large arrays.
template <class Message>
bool is_in_place(const Message& message) noexcept {
  const detail::LoanFunctions* functions = detail::loan_functions();
  return functions != nullptr && functions->is_in_place(&message) != 0;
}

}  // namespace rmw_situ
