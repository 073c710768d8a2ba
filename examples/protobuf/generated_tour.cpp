// Writes the tour of write_tour.cpp with a writer that was generated for tour.proto, and reads it back.
#include <array>
#include <cstdint>
#include <iostream>
#include <span>
#include <tuple>

#include "tour.situ.hpp"

int main() {
  std::array<std::uint8_t, 256> memory;
  situ::protobuf::fixed_buffer buffer{std::span(memory)};
  situ::protobuf::writer writer(buffer);
  {
    tour::TourWriter tour(writer);
    tour.set_id(7);
    for (const auto& [name, latitude, longitude] :
         {std::tuple{"Ulm", 48.40, 9.99}, std::tuple{"Elchingen", 48.45, 10.09}}) {
      tour::PlaceWriter place = tour.add_places();
      place.set_name(name);
      place.set_latitude(latitude);
      place.set_longitude(longitude);
    }  // The place ends here, and its length is written.
    tour.set_heights(std::array{478.0F, 463.5F});
  }
  if (const auto error = writer.finish(); error != situ::protobuf::write_error::none) {
    std::cerr << situ::protobuf::describe(error) << '\n';
    return 1;
  }

  const tour::TourReader read(buffer.written());
  if (read.error()) {
    std::cerr << situ::protobuf::describe(read.error().problem) << '\n';
    return 1;
  }
  std::cout << "tour " << read.id() << ", " << read.as_bytes().size() << " bytes\n";
  for (const tour::PlaceReader& place : read.places()) {
    std::cout << place.name() << " at " << place.latitude() << ", " << place.longitude() << '\n';
  }
  for (const float height : read.heights()) std::cout << height << " m\n";
}
