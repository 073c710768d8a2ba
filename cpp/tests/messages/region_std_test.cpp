// Region forms of generated types beside the standard library: their text, and their copies.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "bazaar.hpp"
#include "messages/bazaar_values.hpp"
#include "situ/region.hpp"
#include "situ/region/to_std.hpp"

namespace {

using game::Bazaar;

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  out << value;
  return std::move(out).str();
}

TEST(RegionText, is_that_of_messages) {
  situ::region<game::Character> r;
  r->name = "Hero \"1\"";
  r->skills.emplace_back(1054, 3);
  r->items.emplace(40U, 1U, 2U, 3U, 4U);
  r->equips.emplace_back().attributes = {0.5F, 1};
  situ::rebind<game::Character, situ::heap> message;
  ASSERT_TRUE(situ::convert(*r, message));
  EXPECT_EQ(shown(*r), shown(message));
  EXPECT_EQ(situ::to_string(*r), shown(message));
  EXPECT_NE(shown(*r).find("game::Character{id: 0, name: \"Hero \\\"1\\\"\""), std::string::npos)
      << shown(*r);
  EXPECT_EQ(shown(r->equips), "[" + shown(message.equips[0]) + "]");
  EXPECT_EQ(shown(r->skills), "[game::Skill{id: 1054, level: 3}]");
}

TEST(RegionText, shows_unions_trees_and_shared_values) {
  situ::region<Bazaar> r;
  situ_test::fill(*r);
  const std::string text = shown(*r);
  EXPECT_NE(text.find("shape: game::Shape{label: \"a label of some length\"}"), std::string::npos) << text;
  EXPECT_NE(text.find("sound: game::Sound{where: game::Position{x: 1, y: 2, z: 3}}"), std::string::npos);
  EXPECT_NE(text.find("grain: #1 game::Inner{text: \"the grain that both have\""), std::string::npos);
  EXPECT_NE(text.find("game::Texture{name: \"wood\", grain: #1}"), std::string::npos);
  EXPECT_NE(text.find(", ... 441 more}"), std::string::npos);
  EXPECT_EQ(shown(r->shape), "game::Shape{label: \"a label of some length\"}");
}

TEST(RegionToStd, is_the_message_on_the_heap) {
  situ::region<Bazaar> r;
  situ_test::fill(*r);
  const situ::rebind<Bazaar, situ::heap> message = situ::to_std(*r);
  EXPECT_EQ(message.shape.label(), "a label of some length");
  EXPECT_EQ(message.prices.at("price 42").uuid, 42U);
  const std::vector<game::Shape_<situ::heap>> shapes = situ::to_std(r->shapes);
  EXPECT_EQ(shapes, message.shapes);
  const std::vector<situ::rebind<game::Texture, situ::heap>> textures = situ::to_std(r->textures);
  EXPECT_EQ(textures, message.textures);
  EXPECT_EQ(situ::to_std(r->by_number).at(3).label(), "three");
}

TEST(RegionToStd, refuses_what_is_nested_too_deep) {
  situ::region<game::Mesh> r;
  game::Mesh* last = &*r;
  for (int i = 0; i < 1000; ++i) last = &last->patches.emplace_back().mesh.emplace();
  EXPECT_THROW(static_cast<void>(situ::to_std(*r)), std::length_error);
  EXPECT_NE(shown(*r).find("..."), std::string::npos);
}

}  // namespace
