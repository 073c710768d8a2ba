// How vectors, strings and sequences lie in memory, and whether they really do so in this process.
#include "types/layout.hpp"

#include <cstring>
#include <span>

#include "types/description.hpp"

namespace rmw_situ {
namespace {

// The bytes of a value as a struct. Values and structs of different sizes are never the same.
template <class Raw, class Value>
bool raw_of(const Value& value, Raw& raw) {
  if (sizeof(Raw) != sizeof(Value) || alignof(Raw) != alignof(Value)) return false;
  std::memcpy(&raw, &value, sizeof(raw));
  return true;
}

template <class Unit>
bool string_layout_holds() {
  using String = std::basic_string<Unit>;
  StringCpp<Unit> raw;
  String text(3, Unit('x'));
  const Unit* local = reinterpret_cast<const Unit*>(reinterpret_cast<const std::byte*>(&text) +
                                                    offsetof(StringCpp<Unit>, local));
  if (!raw_of(text, raw) || raw.data != local || raw.size != 3 || text.data() != local) return false;
  // The longest text without memory of its own, and the shortest with it.
  text.assign(StringCpp<Unit>::kLocal - 1, Unit('y'));
  if (!raw_of(text, raw) || raw.data != local || raw.size != text.size()) return false;
  text.assign(StringCpp<Unit>::kLocal, Unit('z'));
  if (!raw_of(text, raw) || raw.data == local || raw.data != text.data()) return false;
  return raw.size == text.size() && raw.capacity == text.capacity();
}

template <class Element>
bool vector_layout_holds() {
  std::vector<Element> empty;
  VectorCpp raw;
  if (!raw_of(empty, raw) || raw.begin != nullptr || raw.end != nullptr) return false;
  std::vector<Element> some(3);
  some.reserve(7);
  if (!raw_of(some, raw)) return false;
  const std::byte* data = reinterpret_cast<const std::byte*>(some.data());
  return raw.begin == data && raw.end == data + 3 * sizeof(Element) &&
         raw.end_of_memory == data + some.capacity() * sizeof(Element);
}

bool bits_layout_holds() {
  std::vector<bool> empty;
  BitsCpp raw;
  if (!raw_of(empty, raw) || raw.begin != nullptr || raw.end != nullptr || raw.end_bit != 0) return false;
  std::vector<bool> some(70);
  some[0] = some[65] = true;
  if (!raw_of(some, raw) || raw.begin_bit != 0 || raw.end != raw.begin + 1 || raw.end_bit != 6) return false;
  return raw.end_of_memory == raw.begin + 2 && raw.begin[0] == 1 && raw.begin[1] == 2;
}

}  // namespace

bool cpp_layouts_hold() {
  static const bool hold = string_layout_holds<char>() && string_layout_holds<char16_t>() &&
                           vector_layout_holds<uint8_t>() && vector_layout_holds<double>() &&
                           vector_layout_holds<std::string>() && bits_layout_holds();
  return hold;
}

bool sequence_layout_holds(const Member& member, size_t stride) {
  // Its functions must not see a forged one.
  if (member.is_buffer) return false;
  // Larger than any sequence, and zero behind the three words that are known.
  alignas(16) std::byte place[128] = {};
  alignas(16) std::byte elements[16] = {};
  constexpr size_t kCount = 5;
  bool is_bits = member.resize_cpp != nullptr && member.kind == Kind::kBool;
  if (is_bits) return cpp_layouts_hold();
  // The elements are never accessed: only addresses are computed.
  auto begin = reinterpret_cast<uintptr_t>(elements);
  if (member.resize_cpp != nullptr) {
    if (!cpp_layouts_hold()) return false;
    uintptr_t words[] = {begin, begin + kCount * stride, begin + kCount * stride};
    std::memcpy(place, words, sizeof(words));
  } else {
    uintptr_t words[] = {begin, kCount, kCount};
    std::memcpy(place, words, sizeof(words));
  }
  return member.size(place) == kCount && member.get_const(place, 0) == elements &&
         reinterpret_cast<uintptr_t>(member.get_const(place, kCount - 1)) == begin + (kCount - 1) * stride;
}

}  // namespace rmw_situ
