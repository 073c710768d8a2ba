// Fuzzes validation: bytes that pass as a flat message can be read, compared, copied, printed and encoded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kitchen.hpp"
#include "situ/cdr.hpp"
#include "situ/validate.hpp"

namespace {

struct alignas(situ::bulk_alignment) line {
  std::byte bytes[situ::bulk_alignment];
};

template <class T>
void validate(std::span<const std::byte> bytes) {
  const std::size_t head_size = std::min(bytes.size(), sizeof(T));
  std::vector<line> head(sizeof(T) / sizeof(line) + 1);
  std::memcpy(head.data(), bytes.data(), head_size);
  const auto body = bytes.subspan(head_size);
  std::vector<line> lines(body.size() / sizeof(line) + 1);
  if (!body.empty()) std::memcpy(lines.data(), body.data(), body.size());
  const auto aligned_body = std::as_bytes(std::span(lines)).first(body.size());

  const auto checked = situ::validate_bytes<T>(std::as_bytes(std::span(head)).first(sizeof(T)), body.size());
  if (!checked) return;
  const T& message = **checked;
  const auto copy = std::make_unique<T>(message);
  if (to_string(*copy) != to_string(message)) std::abort();
  if (!situ::encode_to_vector(message, situ::encoding::xcdr2, aligned_body)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 5) {
    case 0:
      validate<kitchen::Primitives>(bytes);
      break;
    case 1:
      validate<kitchen::Containers>(bytes);
      break;
    case 2:
      validate<kitchen::Optionals>(bytes);
      break;
    case 3:
      validate<kitchen::Unions>(bytes);
      break;
    case 4:
      validate<kitchen::Derived>(bytes);
      break;
  }
  return 0;
}
