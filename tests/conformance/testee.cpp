// Answers the conformance runner of protobuf: reads a message with the reader that Situ generated, and writes
// it with the writer. A request and a response are each four bytes of length, little endian, and a message
// (conformance.proto).
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "situ/support/utf8.hpp"

namespace {

using bytes = std::vector<std::uint8_t>;
using situ::protobuf::growing_buffer;
using situ::protobuf::write_error;
using situ::protobuf::writer;

// The first error of reading.
std::optional<std::string> failed;

void good(const situ::protobuf::read_error& error) {
  if (error && !failed)
    failed = "at byte " + std::to_string(error.at) + ": " + std::string(describe(error.problem));
}

std::string_view utf8(std::string_view text) {
  if (!situ::is_utf8(text) && !failed) failed = "a string is not UTF-8";
  return text;
}

// The values that proto3 does not write without presence. -0.0 is another number.
template <class T>
bool is_zero(const T& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    const T zero{};
    return std::memcmp(&value, &zero, sizeof(T)) == 0;
  }
}

// Numbers in one block. A vector of booleans has none.
template <class T>
class numbers {
 public:
  void push_back(T value) { found_.push_back({value}); }
  [[nodiscard]] std::span<const T> span() const {
    static_assert(sizeof(cell) == sizeof(T));
    return {reinterpret_cast<const T*>(found_.data()), found_.size()};
  }

 private:
  struct cell {
    T value;
  };
  std::vector<cell> found_;
};

#include "copy.inc"

std::string_view text(std::span<const std::uint8_t> field) {
  return {reinterpret_cast<const char*>(field.data()), field.size()};
}

void respond(const bytes& request, situ::protobuf::message& response) {
  // Of conformance.proto.
  constexpr std::uint64_t protobuf = 1;
  constexpr std::uint32_t parse_error = 1, runtime_error = 2, payload = 3, skipped = 5, serialize_error = 6;
  std::optional<std::span<const std::uint8_t>> message;
  std::uint64_t wanted = 0;
  std::string_view name;
  situ::protobuf::fields all(request);
  for (const auto& field : all) {
    if (field.number == 1) message = field.content;
    if (field.number == 3) wanted = field.value;
    if (field.number == 4) name = text(field.content);
  }
  // The runner first asks for the tests that are known to fail: none.
  if (name == "conformance.FailureSet") return response.bytes(payload, {});
  if (!message || wanted != protobuf) return response.string(skipped, "binary only");
  failed.reset();
  growing_buffer buffer;
  writer out(buffer);
  if (!copy(name, *message, out)) return response.string(runtime_error, "an unknown message");
  if (failed) return response.string(parse_error, *failed);
  const write_error error = out.finish();
  if (error != write_error::none) return response.string(serialize_error, describe(error));
  response.bytes(payload, buffer.written());
}

}  // namespace

int main() {
  std::uint32_t length = 0;
  while (std::fread(&length, sizeof length, 1, stdin) == 1) {
    bytes request(length);
    if (length != 0 && std::fread(request.data(), length, 1, stdin) != 1) return 1;
    growing_buffer buffer;
    writer out(buffer);
    {
      situ::protobuf::message response(out);
      respond(request, response);
    }
    if (out.finish() != write_error::none) return 1;
    const auto answer = buffer.written();
    length = static_cast<std::uint32_t>(answer.size());
    std::fwrite(&length, sizeof length, 1, stdout);
    std::fwrite(answer.data(), 1, answer.size(), stdout);
    std::fflush(stdout);
  }
}
