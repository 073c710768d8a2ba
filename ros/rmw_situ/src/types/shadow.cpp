// Shows CDR bytes as a message without copying its strings and sequences.
//
// The message and the structs in its sequences are raw memory. No constructor has run in it and no destructor
// or `fini` will; so nothing frees what is not its own. Each member is written as its constructor would have
// left it, except that data pointers lead into the bytes, or into the arena:
//
//   numbers                      copied: they lie in the message itself
//   sequence of numbers,         into the bytes, if they are aligned and have this machine's byte order;
//   otherwise or of structs of them        to a copy in the arena string                       into the
//   bytes, where a zero follows. A std::string of at most 15 characters
//                                is copied into itself: members of std::string may assume that a string whose
//                                data lies elsewhere has room for more. So is a string that has no zero, into
//                                the arena
//   wide string, vector<bool>    to the arena: CDR has other bytes
//   sequence of other structs    to structs in the arena, in the same way
//
// A capacity never exceeds what is shown, except for the zero of a string of C. Readers may therefore do
// whatever they may do with a const message.
#include "types/shadow.hpp"

#include <rmw/error_handling.h>

#include <cstring>
#include <exception>
#include <new>

#include "types/arena.hpp"
#include "types/cdr_source.hpp"
#include "types/layout.hpp"

namespace rmw_situ {
namespace {

// The text of an empty string of C. Nothing writes to it.
alignas(8) constexpr char kEmpty[8] = {};

// An address for a struct that has no const.
void* writable(const void* address) { return const_cast<void*>(address); }

template <class Unit>
void set_local(std::byte* at, size_t size) {
  auto& string = *reinterpret_cast<StringCpp<Unit>*>(at);
  string.data = string.local;
  string.size = size;
  string.local[size] = 0;
}

class PointingShadow final : public Shadow {
 public:
  PointingShadow(const Plan& plan, const Struct& type, const std::string& ros_name)
      : plan_(plan), type_(type), ros_name_(ros_name) {
    message_ = static_cast<std::byte*>(::operator new(type.size, std::align_val_t(kAlignment)));
    clear();
  }
  PointingShadow(const PointingShadow&) = delete;
  PointingShadow& operator=(const PointingShadow&) = delete;
  ~PointingShadow() override { ::operator delete(message_, std::align_val_t(kAlignment)); }

  bool show(std::span<const std::byte> from) override {
    arena_.reset();
    try {
      CdrSource source(from, ros_name_);
      if (source.open() && show_plan(plan_, source, message_)) return true;
    } catch (const std::exception& error) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a message of '%s' with %zu bytes cannot be read: %s",
                                           ros_name_.c_str(), from.size(), error.what());
    }
    clear();
    return false;
  }

  bool show(DeviceBytes& from) override {
    arena_.reset();
    try {
      if (image_size_ < from.size()) {
        // Not initialized: most of it is never touched.
        image_.reset(new std::byte[from.size()]);
        image_size_ = from.size();
      }
      CdrSource source(from, {image_.get(), from.size()}, ros_name_);
      if (source.open() && show_plan(plan_, source, message_)) return true;
    } catch (const std::exception& error) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a message of '%s' with %zu bytes cannot be read: %s",
                                           ros_name_.c_str(), from.size(), error.what());
    }
    clear();
    return false;
  }

  void* message() override { return message_; }

  void clear() override {
    // Zeroes are empty sequences, and empty strings of C.
    std::memset(message_, 0, type_.size);
    empty_strings(plan_, message_);
    arena_.reset();
  }

 private:
  static constexpr size_t kAlignment = 16;

  static void empty_strings(const Plan& plan, std::byte* message) {
    for (const Op& op : plan.ops) {
      if (op.container == Container::kSequence || op.element == Element::kBlock) continue;
      size_t count = op.container == Container::kArray ? op.length : 1;
      for (size_t i = 0; i < count; i++) {
        std::byte* at = message + op.offset + i * op.stride;
        if (op.element == Element::kStruct) {
          empty_strings(*op.nested, at);
        } else if (op.language == Language::kCpp) {
          op.element == Element::kString ? set_local<char>(at, 0) : set_local<char16_t>(at, 0);
        }
      }
    }
  }

  bool show_plan(const Plan& plan, CdrSource& source, std::byte* message) {
    for (const Op& op : plan.ops) {
      std::byte* at = message + op.offset;
      bool is_shown;
      if (op.container == Container::kSequence) {
        is_shown = show_sequence(op, source, at);
      } else if (op.element == Element::kBlock) {
        is_shown = copy_block(op, source, at, op.container == Container::kArray ? op.length : 1);
      } else {
        is_shown = show_elements(op, source, at, op.container == Container::kArray ? op.length : 1);
      }
      if (!is_shown) return false;
    }
    return true;
  }

  // Strings or structs.
  bool show_elements(const Op& op, CdrSource& source, std::byte* at, size_t count) {
    for (size_t i = 0; i < count; i++, at += op.stride) {
      bool is_shown = op.element == Element::kStruct   ? show_plan(*op.nested, source, at)
                      : op.element == Element::kString ? show_string(op, source, at)
                                                       : show_wide_string(op, source, at);
      if (!is_shown) return false;
    }
    return true;
  }

  bool copy_block(const Op& op, CdrSource& source, std::byte* at, size_t count) {
    const std::byte* from = source.take_block(op, count);
    if (from == nullptr) return false;
    std::memcpy(at, from, (count - 1) * op.block.stride + op.block.size);
    source.swap_block(op.block, at, count);
    return source.check_bools(op, at, count);
  }

  bool show_sequence(const Op& op, CdrSource& source, std::byte* at) {
    size_t count;
    if (!source.take_count(op, count)) return false;
    if (op.element == Element::kBits) return show_bits(op, source, at, count);
    const std::byte* elements = nullptr;
    if (count != 0) {
      if (op.element == Element::kBlock) {
        elements = show_block(op, source, count);
        if (elements == nullptr) return false;
      } else {
        std::byte* made = arena_.take(count * op.stride, op.alignment);
        // Padding, too: readers may copy and compare structs of C as bytes.
        std::memset(made, 0, count * op.stride);
        if (!show_elements(op, source, made, count)) return false;
        elements = made;
      }
    }
    if (op.language == Language::kC) {
      SequenceC sequence{writable(elements), count, count};
      std::memcpy(at, &sequence, sizeof(sequence));
    } else {
      auto* begin = static_cast<std::byte*>(writable(elements));
      std::byte* end = begin + count * op.stride;
      VectorCpp vector{begin, end, end};
      std::memcpy(at, &vector, sizeof(vector));
    }
    return true;
  }

  // Elements in the bytes, or a copy of them. NULL if they are not valid.
  const std::byte* show_block(const Op& op, CdrSource& source, size_t count) {
    if (const std::byte* on_device = source.take_on_device(op, count)) return on_device;
    const std::byte* from = source.take_block(op, count);
    if (from == nullptr) return nullptr;
    size_t size = (count - 1) * op.stride + op.block.size;
    bool is_aligned = reinterpret_cast<uintptr_t>(from) % op.alignment == 0;
    // A reader may copy the last element with the padding at its end.
    bool is_whole = op.stride - op.block.size <= source.rest();
    if (is_aligned && is_whole && !source.is_swapped()) {
      return source.check_bools(op, from, count) ? from : nullptr;
    }
    std::byte* made = arena_.take(count * op.stride, op.alignment);
    std::memcpy(made, from, size);
    std::memset(made + size, 0, count * op.stride - size);
    source.swap_block(op.block, made, count);
    return source.check_bools(op, made, count) ? made : nullptr;
  }

  bool show_bits(const Op& op, CdrSource& source, std::byte* at, size_t count) {
    BitsCpp bits{};
    if (count != 0) {
      const std::byte* from = source.take_block(op, count);
      if (from == nullptr || !source.check_bools(op, from, count)) return false;
      constexpr size_t kBits = 64;
      size_t words = (count + kBits - 1) / kBits;
      bits.begin = reinterpret_cast<uint64_t*>(arena_.take(words * sizeof(uint64_t), alignof(uint64_t)));
      std::memset(bits.begin, 0, words * sizeof(uint64_t));
      for (size_t i = 0; i < count; i++) {
        bits.begin[i / kBits] |= std::to_integer<uint64_t>(from[i] & std::byte{1}) << i % kBits;
      }
      bits.end = bits.begin + count / kBits;
      bits.end_bit = static_cast<uint32_t>(count % kBits);
      bits.end_of_memory = bits.begin + words;
    }
    std::memcpy(at, &bits, sizeof(bits));
    return true;
  }

  bool show_string(const Op& op, CdrSource& source, std::byte* at) {
    CdrSource::Text text;
    if (!source.take_string(op, text)) return false;
    if (op.language == Language::kCpp && text.size < StringCpp<char>::kLocal) {
      set_local<char>(at, text.size);
      if (text.size != 0) std::memcpy(reinterpret_cast<StringCpp<char>*>(at)->local, text.data, text.size);
      return true;
    }
    const char* data = text.data;
    if (text.size == 0) {
      data = kEmpty;
    } else if (!text.is_terminated) {
      std::byte* made = arena_.take(text.size + 1, 1);
      std::memcpy(made, text.data, text.size);
      made[text.size] = std::byte{0};
      data = reinterpret_cast<const char*>(made);
    }
    set_text(op, at, data, text.size);
    return true;
  }

  bool show_wide_string(const Op& op, CdrSource& source, std::byte* at) {
    CdrSource::WideText text;
    if (!source.take_wide_string(op, text)) return false;
    if (op.language == Language::kCpp && text.size < StringCpp<char16_t>::kLocal) {
      set_local<char16_t>(at, text.size);
      source.copy_wide(text, reinterpret_cast<StringCpp<char16_t>*>(at)->local);
      return true;
    }
    const void* data = kEmpty;
    if (text.size != 0) {
      std::byte* made = arena_.take((text.size + 1) * sizeof(char16_t), alignof(char16_t));
      source.copy_wide(text, made);
      std::memset(made + text.size * sizeof(char16_t), 0, sizeof(char16_t));
      data = made;
    }
    set_text(op, at, data, text.size);
    return true;
  }

  // A string whose text lies elsewhere.
  static void set_text(const Op& op, std::byte* at, const void* data, size_t size) {
    if (op.language == Language::kC) {
      SequenceC string{writable(data), size, size + 1};
      std::memcpy(at, &string, sizeof(string));
      return;
    }
    // The layout is that of char16_t as well.
    auto& string = *reinterpret_cast<StringCpp<char>*>(at);
    string.data = static_cast<char*>(writable(data));
    string.size = size;
    string.capacity = size;
  }

  const Plan& plan_;
  const Struct& type_;
  const std::string& ros_name_;
  std::byte* message_;
  Arena arena_;
  // Of bytes on a device, what is needed on the host.
  std::unique_ptr<std::byte[]> image_;
  size_t image_size_ = 0;
};

}  // namespace

std::unique_ptr<Shadow> make_shadow(const Plan& plan, const Struct& type, const std::string& ros_name) {
  return std::make_unique<PointingShadow>(plan, type, ros_name);
}

}  // namespace rmw_situ
