// Measures and writes messages as little-endian XCDR1 by a plan.
#include "types/cdr_write.hpp"

#include <rmw/error_handling.h>

#include <bit>
#include <cstring>
#include <vector>

#include "types/buffer.hpp"
#include "types/cdr_source.hpp"
#include "types/in_place.hpp"
#include "types/layout.hpp"

namespace rmw_situ {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are written as they lie in memory");

size_t align_up(size_t offset, size_t alignment) { return (offset + alignment - 1) & ~(alignment - 1); }

// A text, or the elements of a container, in a message.
struct View {
  const std::byte* data;
  size_t size;
};

View text_of(const Op& op, const std::byte* at) {
  if (op.language == Language::kC) {
    const auto& text = *reinterpret_cast<const SequenceC*>(at);
    return {static_cast<const std::byte*>(text.data), text.size};
  }
  if (op.element == Element::kString) {
    const auto& text = *reinterpret_cast<const std::string*>(at);
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }
  const auto& text = *reinterpret_cast<const std::u16string*>(at);
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

View elements_of(const Op& op, const std::byte* at) {
  if (op.container == Container::kArray) return {at, op.length};
  if (op.language == Language::kC) {
    if (op.is_direct) {
      const auto& sequence = *reinterpret_cast<const SequenceC*>(at);
      return {static_cast<const std::byte*>(sequence.data), sequence.size};
    }
  } else if (op.is_direct) {
    const auto& vector = *reinterpret_cast<const VectorCpp*>(at);
    size_t size = static_cast<size_t>(vector.end - vector.begin);
    return {vector.begin, size / op.stride};
  }
  size_t size = op.member->size(at);
  return {size == 0 ? nullptr : static_cast<const std::byte*>(op.member->get_const(at, 0)), size};
}

// Counts bytes. Nothing is checked: what is not valid is refused when it is written.
struct Counter {
  size_t position = 0;
  // Elements that are looked for, and the position at which they were seen.
  const void* wanted = nullptr;
  size_t found = 0;
  bool is_found = false;

  static constexpr bool kChecks = false;
  void align(size_t alignment) { position = align_up(position, alignment); }
  bool bytes(const void*, size_t size) {
    position += size;
    return true;
  }
  bool number(uint32_t) {
    align(4);
    position += 4;
    return true;
  }
  bool block(const Block& block, const std::byte* from, size_t count) {
    align(block.alignment);
    if (wanted != nullptr && from == wanted) {
      found = position;
      is_found = true;
    }
    position += (count - 1) * block.stride + block.size;
    return true;
  }
  bool wide(const std::byte*, size_t size) {
    position += size * 4;
    return true;
  }
  bool bits(const std::vector<bool>& from) {
    position += from.size();
    return true;
  }
};

// Writes bytes. `position` and `end` count from the end of the encapsulation.
struct Writer {
  std::byte* payload;
  size_t end;
  const std::string& ros_name;
  size_t position = 0;

  static constexpr bool kChecks = true;

  // The place of so many bytes, or NULL if they do not fit.
  std::byte* place(size_t size, size_t alignment) {
    size_t begin = align_up(position, alignment);
    if (begin > end || size > end - begin) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
          "a message of '%s' does not fit into %zu bytes: it was changed while it was written, or the buffer "
          "is "
          "smaller than its serialized size",
          ros_name.c_str(), end + kEncapsulationSize);
      return nullptr;
    }
    for (; position < begin; position++) payload[position] = std::byte{0};
    position = begin + size;
    return payload + begin;
  }
  bool bytes(const void* from, size_t size) {
    std::byte* to = place(size, 1);
    if (to != nullptr && size != 0) std::memcpy(to, from, size);
    return to != nullptr;
  }
  bool number(uint32_t value) {
    std::byte* to = place(sizeof(value), sizeof(value));
    if (to != nullptr) std::memcpy(to, &value, sizeof(value));
    return to != nullptr;
  }
  bool block(const Block& block, const std::byte* from, size_t count) {
    size_t size = (count - 1) * block.stride + block.size;
    std::byte* to = place(size, block.alignment);
    if (to == nullptr) return false;
    // A lent array lies there already.
    if (to != from) std::memcpy(to, from, size);
    if (block.has_bools) normalize_bools(block, to, count);
    // What lies in padding is not for others to see.
    size_t tail = count > 1 ? block.stride - block.size : 0;
    if (block.gaps.empty() && tail == 0) return true;
    for (size_t i = 0; i < count; i++, to += block.stride) {
      for (const Gap& gap : block.gaps) std::memset(to + gap.offset, 0, gap.size);
      if (i + 1 < count) std::memset(to + block.size, 0, tail);
    }
    return true;
  }
  bool wide(const std::byte* from, size_t size) {
    std::byte* to = place(size * 4, 4);
    if (to == nullptr) return false;
    for (size_t i = 0; i < size; i++) {
      uint16_t unit;
      std::memcpy(&unit, from + 2 * i, sizeof(unit));
      uint32_t written = unit;
      std::memcpy(to + 4 * i, &written, sizeof(written));
    }
    return true;
  }
  bool bits(const std::vector<bool>& from) {
    std::byte* to = place(from.size(), 1);
    if (to == nullptr) return false;
    for (bool bit : from) *to++ = std::byte{bit};
    return true;
  }
};

bool is_valid_length(const Op& op, const std::string& ros_name, const char* what, size_t size, size_t bound) {
  if (bound != 0 && size > bound) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' is not valid: member '%s' has %zu %s, but its bound is %zu", ros_name.c_str(),
        op.path.c_str(), size, what, bound);
    return false;
  }
  if (size >= UINT32_MAX) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "a message of '%s' is not valid: member '%s' has %zu %s, and at most 2^32 - 2 can be sent",
        ros_name.c_str(), op.path.c_str(), size, what);
    return false;
  }
  return true;
}

// A string of C has memory for its characters and a zero behind them.
bool is_valid_text_c(const Op& op, const std::string& ros_name, const std::byte* at) {
  const auto& text = *reinterpret_cast<const SequenceC*>(at);
  const char* problem = nullptr;
  if (text.data == nullptr) {
    problem = "has no memory: initialize it";
  } else if (text.capacity <= text.size) {
    problem = "has a capacity that is not greater than its size";
  } else if (op.element == Element::kString ? static_cast<const char*>(text.data)[text.size] != 0
                                            : static_cast<const uint16_t*>(text.data)[text.size] != 0) {
    problem = "has no zero behind its characters";
  }
  if (problem != nullptr) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a message of '%s' is not valid: the string '%s' %s",
                                         ros_name.c_str(), op.path.c_str(), problem);
  }
  return problem == nullptr;
}

template <class Sink>
bool write_plan(const Plan& plan, const std::byte* message, Sink& sink);

template <class Sink>
bool write_text(const Op& op, const std::byte* at, Sink& sink) {
  View text = text_of(op, at);
  if constexpr (Sink::kChecks) {
    if (op.language == Language::kC && !is_valid_text_c(op, sink.ros_name, at)) return false;
    if (!is_valid_length(op, sink.ros_name, "characters", text.size, op.string_bound)) return false;
  }
  if (op.element == Element::kWString) {
    return sink.number(static_cast<uint32_t>(text.size)) && sink.wide(text.data, text.size);
  }
  // The zero is written with the text: it lies behind it in memory.
  return sink.number(static_cast<uint32_t>(text.size + 1)) && sink.bytes(text.data, text.size + 1);
}

#if RMW_SITU_HAS_BUFFERS
// Writes the bytes of a buffer. To measure it, they need not be on the host.
template <class Sink>
bool write_buffer(const Op& op, const BufferImpl& buffer, Sink& sink) {
  if constexpr (Sink::kChecks) {
    const HostBytes bytes(buffer);
    if (!is_valid_length(op, sink.ros_name, "elements", bytes.size(), op.length)) return false;
    return sink.number(static_cast<uint32_t>(bytes.size())) && sink.bytes(bytes.data(), bytes.size());
  } else {
    return sink.number(0) && sink.bytes(nullptr, buffer.size());
  }
}
#endif

template <class Sink>
bool write_container(const Op& op, const std::byte* at, Sink& sink) {
#if RMW_SITU_HAS_BUFFERS
  if (const auto* const buffer = buffer_of(*op.member, op.language, at))
    return write_buffer(op, *buffer, sink);
#endif
  if (op.element == Element::kBits) {
    const auto& bits = *reinterpret_cast<const std::vector<bool>*>(at);
    if constexpr (Sink::kChecks) {
      if (!is_valid_length(op, sink.ros_name, "elements", bits.size(), op.length)) return false;
    }
    return sink.number(static_cast<uint32_t>(bits.size())) && sink.bits(bits);
  }
  View elements = elements_of(op, at);
  if (op.container == Container::kSequence) {
    if constexpr (Sink::kChecks) {
      if (!is_valid_length(op, sink.ros_name, "elements", elements.size, op.length)) return false;
      if (elements.data == nullptr && elements.size != 0) {
        RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
            "a message of '%s' is not valid: the sequence '%s' has %zu elements but no memory",
            sink.ros_name.c_str(), op.path.c_str(), elements.size);
        return false;
      }
    } else if (elements.data == nullptr) {
      elements.size = 0;
    }
    if (!sink.number(static_cast<uint32_t>(elements.size))) return false;
  }
  if (elements.size == 0) return true;
  if (op.element == Element::kBlock) return sink.block(op.block, elements.data, elements.size);
  for (size_t i = 0; i < elements.size; i++) {
    const std::byte* element = elements.data + i * op.stride;
    bool written = op.element == Element::kStruct ? write_plan(*op.nested, element, sink)
                                                  : write_text(op, element, sink);
    if (!written) return false;
  }
  return true;
}

template <class Sink>
bool write_op(const Op& op, const std::byte* message, Sink& sink) {
  const std::byte* at = message + op.offset;
  if (op.container != Container::kNone) return write_container(op, at, sink);
  return op.element == Element::kBlock ? sink.block(op.block, at, 1) : write_text(op, at, sink);
}

template <class Sink>
bool write_plan(const Plan& plan, const std::byte* message, Sink& sink) {
  for (const Op& op : plan.ops) {
    if (!write_op(op, message, sink)) return false;
  }
  return true;
}

// Whether a sequence's elements are numbers of one width, one behind the other.
bool is_array_of_numbers(const Op& op) {
  return op.container == Container::kSequence && op.element == Element::kBlock && op.is_direct &&
         op.block.numbers.size() == 1 && op.stride == op.block.numbers.front().width;
}

}  // namespace

size_t measure_cdr(const Plan& plan, const void* message) {
  Counter counter;
  write_plan(plan, static_cast<const std::byte*>(message), counter);
  return kEncapsulationSize + counter.position;
}

size_t place_of_array(const Plan& plan, const void* message, size_t size, size_t alignment) {
  const auto* const begin = static_cast<const std::byte*>(message);
  Counter counter;
  size_t of_growing = 0;
  for (const Op& op : plan.ops) {
    if (is_array_of_numbers(op) && op.block.alignment == alignment && size % op.stride == 0) {
      const size_t present = elements_of(op, begin + op.offset).size;
      Counter before = counter;
      before.number(0);
      before.align(alignment);
      if (present == 0) return kEncapsulationSize + before.position;
      if (of_growing == 0 && present < size / op.stride) of_growing = kEncapsulationSize + before.position;
    }
    write_op(op, begin, counter);
  }
  return of_growing;
}

size_t place_of_elements(const Plan& plan, const void* message, const void* elements) {
  Counter counter;
  counter.wanted = elements;
  write_plan(plan, static_cast<const std::byte*>(message), counter);
  return counter.is_found ? kEncapsulationSize + counter.found : 0;
}

void forget_elements(const Plan& plan, void* message, const std::function<bool(const void*)>& is_wanted) {
  for (const Op& op : plan.ops) {
    std::byte* const at = static_cast<std::byte*>(message) + op.offset;
    if (is_array_of_numbers(op)) {
      const View elements = elements_of(op, at);
      // Three words of zeroes are an empty vector, and an empty sequence of C.
      if (elements.data != nullptr && is_wanted(elements.data)) std::memset(at, 0, sizeof(VectorCpp));
    } else if (op.element == Element::kStruct && op.container != Container::kNone && op.is_direct) {
      const View elements = elements_of(op, at);
      for (size_t i = 0; i < elements.size; i++) {
        forget_elements(*op.nested, const_cast<std::byte*>(elements.data) + i * op.stride, is_wanted);
      }
    }
  }
}

bool write_cdr(const Plan& plan, const std::string& ros_name, const void* message, std::span<std::byte> to) {
  constexpr std::byte kEncapsulation[kEncapsulationSize] = {std::byte{0}, std::byte{1}, std::byte{0},
                                                            std::byte{0}};
  if (to.size() < kEncapsulationSize) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a message of '%s' does not fit into %zu bytes", ros_name.c_str(),
                                         to.size());
    return false;
  }
  std::memcpy(to.data(), kEncapsulation, kEncapsulationSize);
  Writer writer{to.data() + kEncapsulationSize, to.size() - kEncapsulationSize, ros_name};
  return write_plan(plan, static_cast<const std::byte*>(message), writer);
}

}  // namespace rmw_situ
