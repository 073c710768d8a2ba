// Fuzzes CDR decoding: no bytes crash it, read out of bounds, or allocate out of proportion. Accepted bytes
// encode to a message that decodes to the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "kitchen.hpp"
#include "situ/cdr.hpp"

namespace {

template <class T>
void decode(std::span<const std::byte> bytes) {
  const auto message = std::make_unique<T>();
  std::vector<std::byte> body;
  if (!situ::decode(*message, bytes, body)) return;
  for (const auto version : {situ::encoding::xcdr1, situ::encoding::xcdr2}) {
    const auto encoded = situ::encode_to_vector(*message, version, body);
    if (!encoded) std::abort();
    const auto copy = std::make_unique<T>();
    std::vector<std::byte> copied_body;
    if (!situ::decode(*copy, *encoded, copied_body)) std::abort();
    if (situ::encode_to_vector(*copy, version, copied_body).value() != *encoded) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 9) {
    case 0:
      decode<kitchen::Primitives>(bytes);
      break;
    case 1:
      decode<kitchen::Containers>(bytes);
      break;
    case 2:
      decode<kitchen::Containers_<situ::heap>>(bytes);
      break;
    case 3:
      decode<kitchen::Optionals>(bytes);
      break;
    case 4:
      decode<kitchen::Unions_<situ::heap>>(bytes);
      break;
    case 5:
      decode<kitchen::Derived>(bytes);
      break;
    case 6:
      decode<kitchen::Derived_<situ::heap>>(bytes);
      break;
    case 7:
      decode<kitchen::Changing>(bytes);
      break;
    case 8:
      decode<kitchen::Heaped>(bytes);
      break;
  }
  return 0;
}
