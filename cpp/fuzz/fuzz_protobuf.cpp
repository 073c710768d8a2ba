// Fuzzes the protobuf reader and writer: bytes are a message or an error. A message is written again, in one
// piece and in chunks, and reads the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "kitchen.situ.hpp"

namespace {

using situ::kitchen::KitchenReader;
using situ::kitchen::KitchenWriter;
using bytes = std::vector<std::uint8_t>;

template <class T, class Range>
std::vector<T> all(Range range) {
  std::vector<T> found;
  for (const T each : range) found.push_back(each);
  return found;
}

// Writes everything that can be read. Whether all of it could be read.
bool copy(const KitchenReader& from, KitchenWriter& to) {
  if (from.error()) return false;
  bool whole = true;
  const auto checked = [&](auto numbers) {
    for ([[maybe_unused]] const auto each : numbers) continue;
    whole = whole && !numbers.error();
  };
  if (from.has_int32()) to.set_int32(from.int32());
  if (from.has_int64()) to.set_int64(from.int64());
  if (from.has_uint32()) to.set_uint32(from.uint32());
  if (from.has_uint64()) to.set_uint64(from.uint64());
  if (from.has_sint32()) to.set_sint32(from.sint32());
  if (from.has_sint64()) to.set_sint64(from.sint64());
  if (from.has_fixed32()) to.set_fixed32(from.fixed32());
  if (from.has_fixed64()) to.set_fixed64(from.fixed64());
  if (from.has_sfixed32()) to.set_sfixed32(from.sfixed32());
  if (from.has_sfixed64()) to.set_sfixed64(from.sfixed64());
  if (from.has_float()) to.set_float(from.float_());
  if (from.has_double()) to.set_double(from.double_());
  if (from.has_bool()) to.set_bool(from.bool_());
  if (from.has_string()) to.set_string(from.string());
  if (from.has_bytes()) to.set_bytes(from.bytes());
  if (from.has_child()) {
    auto child = to.set_child();
    whole &= copy(from.child(), child);
  }
  for (const KitchenReader& each : from.children()) {
    auto child = to.add_children();
    whole &= copy(each, child);
  }
  checked(from.packed());
  to.set_packed(all<std::int32_t>(from.packed()));
  checked(from.doubles());
  to.set_doubles(all<double>(from.doubles()));
  checked(from.zigzags());
  to.set_zigzags(all<std::int64_t>(from.zigzags()));
  checked(from.bools());
  for (const bool each : from.bools()) to.set_bools(std::array{each});
  for (const auto each : from.strings()) to.add_strings(each);
  if (from.has_fruit()) to.set_fruit(from.fruit());
  if (from.has_number()) to.set_number(from.number());
  if (from.has_text()) to.set_text_in_pieces().push(from.text());
  if (from.has_message()) {
    auto message = to.set_message();
    whole &= copy(from.message(), message);
  }
  checked(from.fruits());
  to.set_fruits(all<situ::kitchen::Fruit>(from.fruits()));
  checked(from.unpacked());
  for (const auto each : from.unpacked()) to.add_unpacked(each);
  for (const auto& entry : from.scores()) {
    whole &= !entry.error();
    to.add_scores(entry.key(), entry.value());
  }
  for (const auto& entry : from.named()) {
    whole &= !entry.error();
    auto copied = to.add_named();
    copied.set_key(entry.key());
    auto value = copied.set_value();
    whole &= copy(entry.value(), value);
  }
  for (const auto& each : from.unknown_fields()) to.raw(each.bytes);
  return whole;
}

// Nothing if not all of it can be read, or if it is nested too deep to be written.
template <class Buffer>
bool rewrite(std::span<const std::uint8_t> message, Buffer& buffer) {
  situ::protobuf::writer out(buffer);
  bool whole = false;
  {
    KitchenWriter it(out);
    whole = copy(KitchenReader(message), it);
  }
  return out.finish() == situ::protobuf::write_error::none && whole;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  situ::protobuf::growing_buffer first;
  if (!rewrite({data, size}, first)) return 0;
  const auto once = first.written();
  situ::protobuf::growing_buffer second;
  if (!rewrite(once, second)) std::abort();
  if (bytes(once.begin(), once.end()) != bytes(second.written().begin(), second.written().end()))
    std::abort();
  // Lengths are wider in chunks; after reading them again, no difference remains.
  situ::protobuf::scattered_buffer chunks(5 + size % 60);
  if (!rewrite(once, chunks)) std::abort();
  situ::protobuf::growing_buffer third;
  if (!rewrite(chunks.to_vector(), third)) std::abort();
  if (bytes(once.begin(), once.end()) != bytes(third.written().begin(), third.written().end())) std::abort();
  return 0;
}
