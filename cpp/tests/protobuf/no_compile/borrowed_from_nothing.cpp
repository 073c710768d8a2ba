// Text may not be borrowed from a temporary reader.
// EXPECT: deleted
#include "situ/protobuf/reader.hpp"

struct layout {
  static constexpr std::size_t size = 1;
  static constexpr std::array<std::pair<std::uint16_t, std::uint16_t>, 1> oneofs{};
  static constexpr int slot(std::uint32_t, situ::protobuf::wire_type) noexcept { return 0; }
  static constexpr bool accepts(int, std::int32_t) noexcept { return true; }
};
using table = situ::protobuf::table<layout>;

std::string_view use(const table& parent) {
#ifdef SITU_RIGHT
  const table child = parent.get_message<table>(0);
  return std::string_view("x").substr(child.get_string(0).size());
#else
  return parent.get_message<table>(0).get_string(0);
#endif
}
