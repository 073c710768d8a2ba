// Fuzzes operations on regions: after any program, a region holds the same as standard containers: in a
// window, in a buffer that is soon full, and after each way to compact it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "region/forest.hpp"
#include "region/market_model.hpp"
#include "region/model.hpp"
#include "support/memory.hpp"

namespace {

using situ_test::Forest;
using situ_test::Kitchen;
using situ_test::Market;

bool done(situ::region<Kitchen>& r, std::span<const std::uint8_t> bytes, bool full_is_good) {
  return situ_test::run(situ_test::program(bytes), r, full_is_good, 64);
}

template <class T>
bool done(situ::region<T>& r, std::span<const std::uint8_t> bytes, bool full_is_good) {
  return situ_test::run(situ_test::program(bytes), r, full_is_good);
}

template <class T>
void in_a_window(std::span<const std::uint8_t> bytes, bool monotonic, bool zero_on_free) {
  situ::region_options options;
  options.zero_on_free = zero_on_free;
  if (monotonic) options.allocation = situ::region_allocation::of<situ::monotonic_allocator>();
  situ::region<T> r(options);
  if (!done(r, bytes, false)) std::abort();
}

template <class T, std::size_t Size>
void in_a_buffer(std::span<const std::uint8_t> bytes) {
  situ_test::granule buffer[Size / 16];
  for (auto& each : buffer) each.bytes[5] = std::byte{0xA5};
  situ::region<T> r(std::as_writable_bytes(std::span(buffer)));
  if (!done(r, bytes, true)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const bool monotonic = (data[0] & 64) != 0;
  const bool zero_on_free = (data[0] & 128) == 0;
  switch (data[0] % 6) {
    case 0:
      in_a_window<Kitchen>(bytes, monotonic, zero_on_free);
      break;
    case 1:
      in_a_window<Market>(bytes, monotonic, zero_on_free);
      break;
    case 2:
      in_a_window<Forest>(bytes, monotonic, zero_on_free);
      break;
    case 3:
      in_a_buffer<Kitchen, 2560>(bytes);
      break;
    case 4:
      in_a_buffer<Market, 2560>(bytes);
      break;
    case 5:
      in_a_buffer<Forest, 11200>(bytes);
      break;
  }
  return 0;
}
