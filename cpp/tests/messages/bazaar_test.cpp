// Trees, unions, shared links and bases in the region forms of generated types: compared with the bytes that
// Rust writes, and converted from and to the heap.
#include "bazaar.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "messages/bazaar_values.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/region.hpp"
#include "situ/validate.hpp"
#include "support/vectors.hpp"

namespace {

using game::Bazaar;
using heap_bazaar = situ::rebind<Bazaar, situ::heap>;
using situ_test::fill;
using situ_test::vector_image;

TEST(Bazaar, the_bytes_are_those_of_the_vectors) {
  situ::region<Bazaar> r;
  fill(*r);
  const std::vector<situ_test::granule> canonical = vector_image("bazaar.canonical.bin").granules;
  const auto bytes = std::as_bytes(std::span(canonical));
  EXPECT_EQ(r.canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  const std::vector<situ_test::granule> live = vector_image("bazaar.live.bin").granules;
  auto taken = situ::region<Bazaar>::adopt(std::as_bytes(std::span(live)));
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
  const Bazaar& b = **taken;
  EXPECT_EQ(b.prices.at("price 42").uuid, 42U);
  EXPECT_EQ(b.shape.discriminator(), 3);
  EXPECT_EQ(b.shape.label(), "a label of some length");
  EXPECT_FALSE(b.shape.has_points());
  EXPECT_EQ(b.sound.where().z, 3.0F);
  EXPECT_EQ(b.choices[1].index(), situ::no_alternative);
  EXPECT_EQ(b.textures[0].grain, b.texture->grain);
  EXPECT_EQ(b.texture->grain.use_count(), 2U);
  EXPECT_THROW((void)b.flag.number(), situ::bad_union_access);
}

TEST(Cupboard, keys_of_all_kinds_have_the_bytes_of_the_vectors_and_are_converted) {
  situ::region<game::Cupboard> r;
  fill(*r);
  const std::vector<situ_test::granule> canonical = vector_image("cupboard.canonical.bin").granules;
  const auto bytes = std::as_bytes(std::span(canonical));
  EXPECT_EQ(r.canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  const std::vector<situ_test::granule> live = vector_image("cupboard.live.bin").granules;
  const auto taken = situ::region<game::Cupboard>::adopt(std::as_bytes(std::span(live)));
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
  situ::rebind<game::Cupboard, situ::heap> message;
  ASSERT_TRUE(situ::convert(*r, message));
  EXPECT_EQ(message.angles.size(), 6U);
  EXPECT_EQ(message.letters[2], '\xE9');
  EXPECT_EQ(message.signs.at(true), "open");
  situ::region<game::Cupboard> back;
  ASSERT_TRUE(situ::convert(message, *back));
  EXPECT_EQ(back.canonical(), r.canonical());
}

/// Keys that `<` does not order, as maps have them.
constexpr double order[] = {-std::numeric_limits<double>::infinity(), -0.0, 0.0,
                            std::numeric_limits<double>::quiet_NaN()};

template <class Map>
void expect_order(const Map& map) {
  ASSERT_EQ(map.size(), std::size(order));
  std::int32_t i = 0;
  for (const auto& entry : map) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(entry.first)),
              std::bit_cast<std::uint64_t>(order[i]));
    EXPECT_EQ(entry.second, i++);
  }
}

TEST(Cupboard, floating_point_keys_have_the_same_order_in_every_storage) {
  situ::rebind<game::Gauge, situ::heap> heap;
  for (const int i : {2, 0, 3, 1}) EXPECT_TRUE(heap.readings.try_emplace(order[i], i).second);
  EXPECT_FALSE(heap.readings.try_emplace(order[3], 9).second) << "a NaN is found again";
  expect_order(heap.readings);
  EXPECT_EQ(heap.readings.count(0.0), 1U);
  EXPECT_EQ(heap.readings.at(-0.0), 1);
  situ::rebind<game::Gauge, situ::flat> flat;
  ASSERT_TRUE(situ::convert(heap, flat));
  expect_order(flat.readings);
  situ::region_of<game::Gauge> r;
  ASSERT_TRUE(situ::convert(flat, *r));
  expect_order(r->readings);
  const auto bytes = situ::encode_to_vector(heap, situ::encoding::xcdr1);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), 4U + 8 + 3 * 16 + 12);
  situ::rebind<game::Gauge, situ::heap> read;
  ASSERT_TRUE(situ::decode(read, *bytes));
  expect_order(read.readings);
  EXPECT_TRUE(situ::validate(&flat, 0));
  std::swap(flat.readings.begin()[1], flat.readings.begin()[2]);
  const auto refused = situ::validate(&flat, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "readings: key 2 is not greater than the key before it");
}

TEST(Bazaar, unions_report_that_there_is_no_room) {
  std::vector<situ_test::granule> memory(200);
  situ::region<Bazaar> r(std::as_writable_bytes(std::span(memory)));
  r->shape.set_label("short");
  const std::string longer(4000, 'x');
  EXPECT_EQ(r->shape.try_set_label(longer), nullptr);
  EXPECT_EQ(r->shape.try_set_label("short", 1), nullptr) << "1 selects another member";
  EXPECT_EQ(r->shape.label(), "short");
  EXPECT_EQ(*r->shape.try_set_label("shorter"), "shorter");
}

TEST(Bazaar, unions_make_a_new_value_in_place) {
  std::vector<situ_test::granule> memory(200);
  situ::region<Bazaar> r(std::as_writable_bytes(std::span(memory)));
  r->shape.select(3);
  auto& label = r->shape.emplace_label("short");
  EXPECT_EQ(&label, r->shape.label_if());
  EXPECT_EQ(label, "short");
  EXPECT_EQ(r->shape.discriminator(), 2) << "the first label of the case";
  const std::string longer(4000, 'x');
  EXPECT_THROW(r->shape.emplace_label(longer), situ::region_error);
  EXPECT_EQ(r->shape.try_emplace_label(longer), nullptr);
  EXPECT_EQ(r->shape.label(), "short") << "nothing is changed if there is no room";
  EXPECT_EQ(r->shape.emplace_label(r->shape.label().substr(1, 3)), "hor");
  EXPECT_EQ(r->shape.emplace_label(), "");
  r->shape.emplace_points().push_back(1.5F);
  EXPECT_EQ(r->shape.discriminator(), 0) << "the least number that selects the default member";
  EXPECT_EQ(r->shape.points().size(), 1U);
  EXPECT_EQ(*r->shape.try_emplace_radius(0.5F), 0.5F);
}

TEST(Bazaar, new_unions_begin_as_the_schema_says) {
  const situ::region<Bazaar> r;
  const heap_bazaar heap;
  EXPECT_EQ(r->shape.discriminator(), 1);
  EXPECT_EQ(heap.shape.discriminator(), 1);
  EXPECT_EQ(r->sound.discriminator(), game::Tone::LOUD);
  EXPECT_EQ(r->sound.level(), 0);
  heap_bazaar read;
  ASSERT_TRUE(situ::convert(*r, read));
  EXPECT_EQ(read, heap);
  auto again = situ::region<Bazaar>::adopt(r.bytes());
  ASSERT_TRUE(again) << again.error().message();
}

TEST(Bazaar, regions_become_heap_messages_and_come_back) {
  situ::region<Bazaar> r;
  fill(*r);
  heap_bazaar message;
  ASSERT_TRUE(situ::convert(*r, message));
  EXPECT_EQ(message.index.size(), r->index.size());
  EXPECT_EQ(message.shapes[2].points()[2], 3.0F);
  EXPECT_EQ(message.letter.items().at("a sword of steel").number, 8U);
  EXPECT_EQ(message.texture->grain->text, message.textures[0].grain->text);
  situ::region<Bazaar> back;
  ASSERT_TRUE(situ::convert(message, *back));
  EXPECT_EQ(back->textures[0].grain.use_count(), 1U);
  heap_bazaar again;
  ASSERT_TRUE(situ::convert(*back, again));
  EXPECT_EQ(again, message);

  // Assigning to a message with shared values leaves these values to the other links.
  message.texture->grain->text = "only one has it";
  message.textures.clear();
  ASSERT_TRUE(situ::convert(message, *r));
  situ::region<Bazaar> fresh;
  ASSERT_TRUE(situ::convert(message, *fresh));
  EXPECT_EQ(r.canonical(), fresh.canonical());
  EXPECT_TRUE(situ::region<Bazaar>::adopt(r.bytes()));
  ASSERT_TRUE(situ::convert(heap_bazaar(), *r));
  EXPECT_EQ(r.canonical(), situ::region<Bazaar>().canonical());
}

void weave(game::Mesh& mesh, int levels) {
  mesh.name = "a name that is longer than eleven bytes";
  if (levels == 0) return;
  mesh.patches.resize(2);
  weave(mesh.patches[0].mesh.emplace(), levels - 1);
  mesh.patches[1].mesh.share(mesh.patches[0].mesh);
}

TEST(Bazaar, values_behind_many_links_do_not_fill_the_memory) {
  situ::rebind<game::Mesh, situ::heap> message;
  situ::region<game::Mesh> small;
  weave(*small, 3);
  ASSERT_TRUE(situ::convert(*small, message));
  EXPECT_EQ(message.patches[1].mesh->patches[1].mesh->patches.size(), 2U);
  situ::region<game::Mesh> large;
  weave(*large, 30);
  EXPECT_LT(large.canonical().size(), 8192U);
  const auto done = situ::convert(*large, message);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("several links"), std::string::npos) << done.error().message();
}

}  // namespace
