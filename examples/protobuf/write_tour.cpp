// Writes a `tour.Tour` (tour.proto) into an array on the stack, and prints it for `protoc --decode=tour.Tour
// tour.proto`.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "situ/protobuf/writer.hpp"

namespace {

void write_place(situ::protobuf::message place, std::string_view name, double latitude, double longitude) {
  place.string(1, name);
  place.float64(2, latitude);
  place.float64(3, longitude);
}

}  // namespace

int main(int argc, char**) {
  std::array<std::uint8_t, 256> memory;
  situ::protobuf::fixed_buffer buffer{std::span(memory)};
  situ::protobuf::writer writer(buffer);
  {
    situ::protobuf::message tour(writer);
    tour.uint64(1, 7);
    write_place(tour.nested(2), "Ulm", 48.40, 9.99);
    write_place(tour.nested(2), "Elchingen", 48.45, 10.09);
    tour.packed_fixed<float>(3, std::array{478.0F, 463.5F});
  }
  if (const auto error = writer.finish(); error != situ::protobuf::write_error::none) {
    std::fprintf(stderr, "%s\n", situ::protobuf::describe(error).data());
    return 1;
  }
  const auto written = buffer.written();
  std::fprintf(stderr, "%zu bytes\n", written.size());
  // With an argument, only the size.
  if (argc == 1) std::fwrite(written.data(), 1, written.size(), stdout);
  return written.size() == 68 ? 0 : 1;
}
