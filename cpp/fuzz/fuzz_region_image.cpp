// Fuzzes images of regions: editing an adopted image never fails, and an accepted canonical image is the only
// image of its value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "region/family.hpp"
#include "region/forest.hpp"
#include "region/market.hpp"
#include "region/model.hpp"
#include "support/memory.hpp"

namespace {

using situ_test::granule;
using situ_test::Kitchen;

/// The bytes as an image of a T, with the header that every image of the type has, so that the fuzzer need
/// not guess it. Empty when there are too few bytes.
template <class T>
std::vector<granule> image_of(std::span<const std::uint8_t> data) {
  std::vector<granule> image = situ_test::granules_of(std::as_bytes(data));
  if (image.size() * sizeof(granule) < sizeof(situ::region_detail::header)) return {};
  auto& front = *reinterpret_cast<situ::region_detail::header*>(image.data());
  front.magic = situ::region_detail::magic;
  front.version = situ::region_detail::version;
  front.zero = 0;
  front.schema_hash = 0;
  front.layout_hash = situ::region_detail::layout_hash<T>();
  front.size = static_cast<std::uint32_t>(image.size() * sizeof(granule));
  front.root = situ::region_detail::root_offset;
  front.form = static_cast<situ::region_form>(static_cast<std::uint8_t>(front.form) % 2);
  return image;
}

/// An accepted canonical image is the only image of its value. An adopted image can be sent on.
template <class T>
void sent_on(const situ::region<T>& taken, std::span<const std::byte> received) {
  const std::vector<std::byte> again = taken.canonical();
  const auto form = static_cast<situ::region_form>(received[offsetof(situ::region_detail::header, form)]);
  if (form == situ::region_form::canonical && taken.bytes().size() == received.size() &&
      !std::equal(again.begin(), again.end(), received.begin(), received.end())) {
    std::abort();
  }
  if (!situ::view_region<T>(situ_test::aligned_bytes(again).span())) std::abort();
}

void market(std::span<const std::uint8_t> data) {
  const std::vector<granule> image = image_of<situ_test::Market>(data);
  auto taken = situ::region<situ_test::Market>::adopt(std::as_bytes(std::span(image)));
  if (!taken) return;
  sent_on(*taken, std::as_bytes(std::span(image)));
  situ_test::Market& m = **taken;
  for (std::uint32_t i = 0; i < 40; ++i) m.index.insert(i * 77);
  while (m.index.size() > 20) m.index.erase(*m.index.begin());
  m.words.insert("a new word");
  for (const auto& [key, value] : m.prices) {
    if (!m.prices.contains(key)) std::abort();
  }
  while (!m.prices.empty()) m.prices.erase((*m.prices.begin()).first);
  m.shape.emplace<"label">(2, "another label of some length");
  if (!m.shapes.empty()) m.shapes.erase(m.shapes.begin());
  if (m.texture) static_cast<void>(m.texture->base.try_share(m.texture));
  if (!m.textures.empty()) static_cast<void>(m.textures[0].try_share(m.texture));
  m.textures.clear();
  m.boxed.clear();
  m.texture.reset();
  sent_on(*taken, taken->bytes());
}

template <class T>
void profile(std::span<const std::uint8_t> data) {
  std::vector<granule> image = image_of<T>(data);
  const auto bytes = std::as_writable_bytes(std::span(image));
  static_cast<void>(situ::view_region<T>(bytes).has_value());
  auto taken = situ::region<T>::adopt(bytes);
  if (!taken) return;
  (*taken)->name = "another name, rather long";
  (*taken)->best.emplace(1, 2);
  sent_on(*taken, taken->bytes());
}

void family(std::span<const std::uint8_t> data) {
  using situ_test::Family;
  const std::vector<granule> image = image_of<Family>(data);
  auto taken = situ::region<Family>::adopt(std::as_bytes(std::span(image)));
  if (!taken) return;
  sent_on(*taken, std::as_bytes(std::span(image)));
  Family& f = **taken;
  if (!f.homes.empty()) f.homes.erase(f.homes.begin());
  f.sold.emplace_back();
  if (!f.homes.empty()) f.sold.back() = f.homes.back();
  f.homes.emplace_back().share(f.sold.front());
  f.gone[0] = f.youngest;
  f.youngest.reset();
  static_cast<void>(f.eldest.try_share(f.gone[0]));
  sent_on(*taken, taken->bytes());
  taken->compact_in_place();
  sent_on(*taken, taken->bytes());
  f.eldest.reset();
  f.homes.clear();
  sent_on(*taken, taken->bytes());
}

void kitchen(std::span<const std::uint8_t> data) {
  std::vector<granule> image = image_of<Kitchen>(data);
  const auto bytes = std::as_writable_bytes(std::span(image));
  const bool viewed = situ::view_region<Kitchen>(bytes).has_value();
  auto taken = situ::region<Kitchen>::adopt(bytes);
  if (taken.has_value() != viewed) std::abort();
  if (!taken) return;
  sent_on(*taken, bytes);
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
  const std::span<const std::uint8_t> image(data + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      kitchen(image);
      break;
    case 1:
      market(image);
      break;
    case 2:
      profile<situ_test::before::Profile>(image);
      break;
    case 3:
      profile<situ_test::after::Profile>(image);
      break;
    case 4:
      family(image);
      break;
  }
  return 0;
}
