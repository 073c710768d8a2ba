// CDR, the encoding of DDS and ROS 2: messages to bytes and back, as spec/cdr.md defines it.
//
// The folder is cdr/. encoding.hpp has the parts that both directions share. write.hpp counts and writes.
// read.hpp reads input that it does not trust.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "situ/cdr/encoding.hpp"
#include "situ/cdr/read.hpp"
#include "situ/cdr/write.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// Returns the number of bytes of the encoded message, encapsulation header included. `body` is the body of a
/// flat message with bulk fields.
template <message T>
[[nodiscard]] result<std::size_t, encode_error> encoded_size(const T& value,
                                                             encoding version = encoding::xcdr1,
                                                             std::span<const std::byte> body = {}) {
  detail::cdr::writer counter(nullptr, 0, version, body);
  if (!counter.message(value)) return failure{counter.take_error()};
  return counter.size();
}

/// Encodes a message into a buffer and returns the number of bytes written.
template <message T>
[[nodiscard]] result<std::size_t, encode_error> encode(const T& value, std::span<std::byte> out,
                                                       encoding version = encoding::xcdr1,
                                                       std::span<const std::byte> body = {}) {
  std::byte nothing{};
  detail::cdr::writer writer(out.empty() ? &nothing : out.data(), out.size(), version, body);
  if (!writer.message(value)) return failure{writer.take_error()};
  return writer.size();
}

/// Encodes a message into a vector of exactly the right size.
template <message T>
[[nodiscard]] result<std::vector<std::byte>, encode_error> encode_to_vector(
    const T& value, encoding version = encoding::xcdr1, std::span<const std::byte> body = {}) {
  auto size = encoded_size(value, version, body);
  if (!size) return failure{std::move(size).error()};
  std::vector<std::byte> bytes(*size);
  auto written = encode(value, bytes, version, body);
  if (!written) return failure{std::move(written).error()};
  return bytes;
}

/// Decodes a message of either version and byte order into an existing value. The value may be a huge one in
/// shared memory: none of it passes through the stack. The bulk fields of a flat message go to `body`. After
/// an error the value is valid, but only some members are set.
template <message T>
[[nodiscard]] result<void, decode_error> decode(T& value, std::span<const std::byte> bytes,
                                                decode_body body = {}) {
  detail::cdr::reader reader(bytes, body);
  if (reader.message(value)) return {};
  return failure{reader.take_error()};
}

}  // namespace situ
