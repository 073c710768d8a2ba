// A value that counts its live instances, to catch leaks and double destruction in containers.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace situ_test {

class tracked {
 public:
  static inline std::ptrdiff_t alive = 0;

  explicit(false) tracked(int value = 0) : text_(std::to_string(value)) { ++alive; }
  tracked(const tracked& other) : text_(other.text_) { ++alive; }
  tracked(tracked&& other) noexcept : text_(std::move(other.text_)) { ++alive; }
  tracked& operator=(const tracked&) = default;
  tracked& operator=(tracked&&) noexcept = default;
  ~tracked() { --alive; }

  friend bool operator==(const tracked&, const tracked&) = default;
  friend auto operator<=>(const tracked&, const tracked&) = default;

 private:
  std::string text_;
};

}  // namespace situ_test
