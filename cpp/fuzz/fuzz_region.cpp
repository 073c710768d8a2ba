// Fuzzes regions: no bytes that are adopted make editing go wrong, what is accepted as canonical is the only
// image of its value, and programs of operations do what standard containers do.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "region/model.hpp"

namespace {

using situ_test::Kitchen;

struct alignas(16) granule {
  std::byte bytes[16];
};

void validate(std::span<const std::uint8_t> data) {
  std::vector<granule> image((data.size() + 15) / 16);
  if (!data.empty()) std::memcpy(image.data(), data.data(), data.size());
  const auto bytes = std::as_writable_bytes(std::span(image));
  if (bytes.size() < sizeof(situ::region_detail::header)) return;
  // What every image of the type begins with is no riddle for the fuzzer to solve.
  auto& front = *reinterpret_cast<situ::region_detail::header*>(bytes.data());
  front.magic = situ::region_detail::magic;
  front.version = situ::region_detail::version;
  front.zero = 0;
  front.schema_hash = 0;
  front.layout_hash = situ::region_detail::layout_hash<Kitchen>();
  front.size = static_cast<std::uint32_t>(bytes.size());
  front.root = situ::region_detail::root_offset;
  front.form = static_cast<situ::region_form>(static_cast<std::uint8_t>(front.form) % 2);

  const bool viewed = situ::view_region<Kitchen>(bytes).has_value();
  auto taken = situ::region<Kitchen>::adopt(bytes);
  if (taken.has_value() != viewed) std::abort();
  if (!taken) return;
  if (front.form == situ::region_form::canonical) {
    const std::vector<std::byte> again = taken->canonical();
    if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
  }
  Kitchen& k = **taken;
  k.words.insert("a new word of some length");
  k.numbers.insert(k.number > 0 ? 7 : 9);
  k.gear["a new piece of gear"].attributes.push_back(1);
  for (const auto& [key, value] : k.gear) {
    if (!k.gear.contains(key)) std::abort();
  }
  while (!k.words.empty()) k.words.erase(k.words.begin());
  k.lists.clear();
  k.names[0].append("more");
  if (k.tree) k.tree->children.emplace_back(1);
  if (!situ_test::travels(*taken)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  if (data[0] % 3 == 0) {
    validate(bytes);
  } else if (data[0] % 3 == 1) {
    situ::region_options options;
    options.zero_on_free = data[0] % 2 == 0;
    situ::region<Kitchen> r(options);
    if (!situ_test::run(situ_test::program(bytes), r, false, 64)) std::abort();
  } else {
    granule buffer[160] = {};
    situ::region<Kitchen> r(std::as_writable_bytes(std::span(buffer)));
    if (!situ_test::run(situ_test::program(bytes), r, true, 64)) std::abort();
  }
  return 0;
}
