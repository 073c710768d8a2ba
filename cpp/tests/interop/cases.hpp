// Messages written by other implementations: read with generated types, compared, and written again.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interop/json_value.hpp"
#include "situ/cdr.hpp"

namespace situ_test {

/// One message; its line in a file of cases.
class interop_case {
 public:
  explicit interop_case(std::string line) : line_(std::move(line)) {
    const std::string_view digits = field("cdr");
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      unsigned byte = 0;
      std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
      bytes_.push_back(static_cast<std::byte>(byte));
    }
  }

  [[nodiscard]] std::string title() const {
    return std::string(field("type")) + ", " + std::string(field("case")) + ", " +
           std::string(field("encoding")) + ", " + std::string(field("order")) + " endian";
  }
  [[nodiscard]] std::string_view type() const { return field("type"); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] situ::encoding encoding() const {
    return field("encoding") == "xcdr1" ? situ::encoding::xcdr1 : situ::encoding::xcdr2;
  }
  /// Whether Situ writes the same bytes for the value.
  [[nodiscard]] bool is_exact() const { return field("order") == "little" && field("differs").empty(); }
  /// Whether the value is that of a new message.
  [[nodiscard]] bool is_default() const { return field("case") == "default"; }
  /// The value as JSON.
  [[nodiscard]] std::string_view value() const {
    const std::size_t at = line_.find(value_key) + value_key.size();
    return std::string_view(line_).substr(at, line_.size() - 1 - at);
  }
  /// The line, with bytes written by Situ.
  [[nodiscard]] std::string with(const std::vector<std::byte>& bytes) const {
    std::string digits;
    for (const std::byte byte : bytes) {
      digits += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4U];
      digits += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15U];
    }
    std::string line = line_;
    const std::string_view old = field("cdr");
    line.replace(static_cast<std::size_t>(old.data() - line_.data()), old.size(), digits);
    return line + "\n";
  }

 private:
  static constexpr std::string_view value_key = "\"value\": ";

  /// Returns the text of a field before the value, or an empty text.
  [[nodiscard]] std::string_view field(std::string_view name) const {
    const std::string_view head = std::string_view(line_).substr(0, line_.find(value_key));
    const std::string key = "\"" + std::string(name) + "\": \"";
    const std::size_t at = head.find(key);
    if (at == std::string_view::npos) return {};
    const std::size_t begin = at + key.size();
    return head.substr(begin, head.find('"', begin) - begin);
  }

  std::string line_;
  std::vector<std::byte> bytes_;
};

/// Returns the cases of a type in a folder. Empty if the folder has no file for the type.
inline std::vector<interop_case> interop_cases(const std::filesystem::path& folder, std::string_view type) {
  std::string name(type);
  for (std::size_t at = name.find("::"); at != std::string::npos; at = name.find("::"))
    name.replace(at, 2, ".");
  std::ifstream file(folder / (name + ".jsonl"));
  std::vector<interop_case> cases;
  for (std::string line; std::getline(file, line);) cases.emplace_back(std::move(line));
  return cases;
}

/// Checks that Situ writes the same bytes as the other side. ROS 2 reserves more room than some messages
/// need, and leaves it at their end.
inline void expect_same_bytes(const interop_case& theirs, const std::vector<std::byte>& ours) {
  if (!theirs.is_exact()) return;
  ASSERT_LE(ours.size(), theirs.bytes().size());
  for (std::size_t i = 0; i < theirs.bytes().size(); ++i) {
    const std::byte expected = i < ours.size() ? ours[i] : std::byte{0};
    ASSERT_EQ(theirs.bytes()[i], expected) << "byte " << i << " of " << theirs.bytes().size();
  }
}

/// Reads a case, compares its value, writes it, and compares the bytes. Returns the written bytes.
template <class T>
std::vector<std::byte> round_trip(const interop_case& one) {
  const auto message = std::make_unique<T>();
  if (one.is_default()) expect_same_bytes(one, situ::encode_to_vector(*message, one.encoding()).value());
  // The second time, the message already has a value. The result must be the same.
  for (int time = 0; time < 2; ++time) {
    const auto read = situ::decode(*message, one.bytes());
    EXPECT_TRUE(read) << read.error().message();
    json_value wanted(one.value());
    EXPECT_TRUE(wanted.is(*message)) << one.type() << wanted.difference();
  }
  auto written = situ::encode_to_vector(*message, one.encoding());
  EXPECT_TRUE(written) << written.error().message();
  if (!written) return {};
  expect_same_bytes(one, *written);
  return std::move(*written);
}

/// Exchanges the messages of a type with another implementation, if that runs this program
/// (tests/interop/*.py). The other implementation's messages are in the folder SITU_INTEROP_THEIRS. The bytes
/// that Situ writes are appended to the file SITU_INTEROP_OURS.
template <class T>
void exchange() {
  const char* theirs = std::getenv("SITU_INTEROP_THEIRS");
  const char* ours = std::getenv("SITU_INTEROP_OURS");
  if (theirs == nullptr || ours == nullptr) return;
  std::ofstream out(ours, std::ios::app);
  for (const interop_case& one : interop_cases(theirs, T::situ_name)) {
    SCOPED_TRACE(one.title());
    out << one.with(round_trip<T>(one));
  }
}

}  // namespace situ_test
