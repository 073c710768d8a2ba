// The path from a message to the part at fault: `fields[3].name`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace situ {

/// Built from the inside outwards while an error is passed up, so that success costs no time.
class field_path {
 public:
  /// Adds this member, which contains the fault.
  void enter_member(std::string_view name) {
    if (!text_.empty() && text_.front() != '[') text_.insert(text_.begin(), '.');
    text_.insert(0, name);
  }
  /// Adds this element of a sequence or array, or entry of a map, which contains the fault.
  void enter_element(std::size_t index) {
    if (!text_.empty() && text_.front() != '[') text_.insert(text_.begin(), '.');
    text_.insert(0, std::string("[").append(std::to_string(index)).append("]"));
  }
  /// Empty when the path names the message itself.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The path for error messages.
  [[nodiscard]] std::string shown() const { return text_.empty() ? "message" : text_; }

 private:
  std::string text_;
};

}  // namespace situ
