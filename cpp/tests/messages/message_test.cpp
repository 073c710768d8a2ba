// The operations of generated messages: defaults, equality, printing, unions, bitmasks, construction in
// place, conversion.
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <type_traits>

#include "extras.hpp"
#include "leaf.hpp"
#include "messages/kitchen_values.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/layout/locate.hpp"
#include "situ/sensor.hpp"

namespace {

using namespace situ_test;

TEST(Message, constants_have_their_values) {
  static_assert(extras::LIMIT == 3);
  static_assert(extras::LARGE == 18446744073709551615U);
  static_assert(extras::SMALLEST == std::numeric_limits<std::int64_t>::min());
  static_assert(extras::TAU == 6.25);
  static_assert(std::is_same_v<decltype(extras::THIRD), const float> && extras::THIRD == 0.25F);
  static_assert(extras::LETTER == 'q' && extras::YES);
  static_assert(std::is_same_v<extras::Choice, extras::Choice_<situ::flat>>);
  static_assert(std::is_same_v<extras::Chosen, extras::Choice>);
  static_assert(std::is_same_v<extras::Texts, extras::Texts_<situ::flat>>);
  static_assert(sizeof(extras::Nothing) == sizeof(extras::Nothing{}.structure_needs_at_least_one_member));
  static_assert(extras::USUAL == extras::Level::HIGH);
  EXPECT_EQ(extras::GREETING, "say \"h\u00e9\"?\n");
}

template <class S>
void expect_defaults() {
  const extras::Defaults_<S> m;
  EXPECT_TRUE(m.yes);
  EXPECT_EQ(m.negative, -5);
  EXPECT_EQ(m.large, 4'000'000'000);
  EXPECT_EQ(m.half, 0.5F);
  EXPECT_EQ(m.text, "text");
  EXPECT_EQ(m.letter, 'x');
  EXPECT_EQ(m.level, extras::Level::HIGH);
  EXPECT_EQ(m.usual, extras::Level::LOW) << "an enum begins with its default enumerator, not with zero";
  EXPECT_EQ(m.levels[1], extras::Level::LOW);
  EXPECT_EQ(m.distance, 0);
  EXPECT_TRUE(m.distances.empty());
  EXPECT_EQ(m.triple, (std::array{0.0F, 0.0F, 0.0F}));
  EXPECT_EQ(m.marks, extras::Marks{});
  EXPECT_FALSE(m.maybe.has_value());
}

TEST(Message, begins_with_its_defaults) {
  expect_defaults<flat>();
  expect_defaults<heap>();
}

TEST(Message, reserved_names_get_an_underscore) {
  extras::Words m;
  m.class_ = 1;
  m.schema_ = 2;
  m.Words__ = 3;
  m.situ_name_ = 4;
  m.NAN_ = 5;
  m.S_ = 6;
  std::string names;
  situ::for_each_member(m, [&](const situ::member_info& info, std::int32_t value) {
    names.append(info.name).append("=").append(std::to_string(value)).append(" ");
  });
  EXPECT_EQ(names, "class=1 schema=2 Words_=3 situ_name=4 NAN=5 S=6 ");
}

TEST(Message, describes_itself) {
  static_assert(kitchen::Derived::situ_name == "kitchen::Derived");
  static_assert(kitchen::Derived::schema_hash == kitchen::Derived_<heap>::schema_hash);
  static_assert(kitchen::Derived::schema_hash != kitchen::Base::schema_hash);
  static_assert(kitchen::Derived::layout_hash != 0 && kitchen::Derived_<heap>::layout_hash == 0);
  static_assert(kitchen::Changing::situ_extensibility == situ::extensibility::mutable_);
  static_assert(std::is_same_v<situ::rebind<kitchen::Derived, heap>, kitchen::Derived_<heap>>);
  EXPECT_TRUE(kitchen::Derived::schema.starts_with("module kitchen {"));
  EXPECT_NE(kitchen::Derived::schema.find("struct Derived"), std::string_view::npos);
  static_assert(situ::flat_message<kitchen::Derived> && !situ::flat_message<kitchen::Derived_<heap>>);
  static_assert(!situ::is_flat_v<kitchen::Growing>);
  static_assert(std::is_trivially_destructible_v<kitchen::Containers>);
  static_assert(std::is_trivially_copyable_v<kitchen::Point>, "elements of bulk fields are plain");
}

TEST(Message, members_are_visited_in_order_bases_first) {
  const kitchen::Derived m;
  std::string names;
  situ::for_each_member(m, [&](const situ::member_info& info, const auto&) {
    names.append(info.name).append(info.key ? "! " : " ");
  });
  EXPECT_EQ(names, "id! left raw between right points none ");
  int visited = 0;
  EXPECT_FALSE(
      situ::for_each_member(m, [&](const situ::member_info&, const auto&) { return ++visited < 3; }));
  EXPECT_EQ(visited, 3);
}

TEST(Message, plain_messages_are_aggregates) {
  const kitchen::Point p{.x = 1.5, .y = 2};
  EXPECT_EQ(p, (kitchen::Point{1.5, 2}));
  EXPECT_NE(p, kitchen::Point{});
}

TEST(Message, compares_and_copies) {
  kitchen::Containers a;
  fill(a);
  kitchen::Containers b(a);
  EXPECT_EQ(a, b);
  b.by_color.at(kitchen::Color::GREEN).text = "other";
  EXPECT_NE(a, b);
  b = a;
  EXPECT_EQ(a, b);
  const kitchen::Containers c(std::move(b));
  EXPECT_EQ(a, c);
}

TEST(Message, prints_readable_text) {
  kitchen::Label label = situ_test::label<flat>(1);
  EXPECT_EQ(to_string(label), "kitchen::Label{text: \"h\u00e9\", place: kitchen::Point{x: 1.5, y: -2.25}}");
  label.place.reset();
  label.text = "a\"\n";
  std::ostringstream out;
  out << label;
  EXPECT_EQ(out.str(), "kitchen::Label{text: \"a\\\"\\n\", place: none}");
  kitchen::Unions_<heap> unions;
  fill(unions);
  const std::string printed = to_string(unions);
  EXPECT_NE(printed.find("named: kitchen::Shape{name: \"box\"}"), std::string::npos) << printed;
  EXPECT_NE(printed.find("off: kitchen::Toggle{}"), std::string::npos) << printed;
  kitchen::Heaped heaped;
  fill(heaped);
  heaped.flags.assign(100, true);
  const std::string long_text = to_string(heaped);
  EXPECT_NE(long_text.find("true, ... 36 more]"), std::string::npos) << long_text;
  EXPECT_NE(long_text.find("ages: {\"a\": 2, \"z\": 1}"), std::string::npos) << long_text;
  EXPECT_NE(long_text.find("wide_text: \"w\\u00f6rld\""), std::string::npos) << long_text;
}

TEST(Message, enums_print_their_names) {
  EXPECT_EQ(to_string(kitchen::Color::ULTRAVIOLET), "ULTRAVIOLET");
  EXPECT_EQ(to_string(kitchen::Color{77}), "77");
  static_assert(enumerator_name(kitchen::Color::GREEN) == "GREEN" &&
                enumerator_name(kitchen::Color{9}).empty());
  EXPECT_EQ(to_string(kitchen::Access::OWN | kitchen::Access::READ), "READ|OWN");
  EXPECT_EQ(to_string(kitchen::Access{}), "0");
  EXPECT_EQ(to_string(kitchen::Wide::HIGH | kitchen::Wide{2}), "HIGH|2");
  std::ostringstream out;
  out << kitchen::Color::RED << " " << kitchen::Features::HORN;
  EXPECT_EQ(out.str(), "RED HORN");
}

TEST(Message, bitmasks_are_sets_of_bits) {
  using kitchen::Access;
  Access access = Access::READ | Access::WRITE;
  EXPECT_TRUE(situ::has(access, Access::READ));
  EXPECT_FALSE(situ::has(access, Access::READ | Access::OWN));
  access &= ~Access::WRITE;
  EXPECT_EQ(access, Access::READ);
  access |= Access::OWN;
  access ^= Access::READ;
  EXPECT_EQ(access, Access::OWN);
}

template <class S>
void expect_union_behaviour() {
  kitchen::Shape_<S> shape;
  EXPECT_EQ(shape.discriminator(), kitchen::Color::RED) << "the first label of the first case";
  EXPECT_TRUE(shape.has_radius());
  EXPECT_EQ(shape.radius(), 0);
  shape.set_name("ball");
  EXPECT_EQ(shape.discriminator(), kitchen::Color::GREEN);
  EXPECT_EQ(shape.name(), "ball");
  EXPECT_EQ(shape.radius_if(), nullptr);
  EXPECT_THROW((void)shape.radius(), situ::bad_union_access);
  shape.select(kitchen::Color::BLUE);
  EXPECT_EQ(shape.name(), "ball") << "another label of the same case";
  EXPECT_THROW(shape.set_radius(1.0, kitchen::Color::BLUE), situ::bad_union_access);
  EXPECT_EQ(shape.try_set_radius(1.0, kitchen::Color::BLUE), nullptr);
  EXPECT_EQ(shape.name(), "ball");
  EXPECT_EQ(*shape.try_set_name("ball"), "ball");
  shape.select(kitchen::Color::BLUE);
  kitchen::Shape_<S> copy = shape;
  EXPECT_EQ(copy, shape);
  copy.set_corner(point<S>(1));
  EXPECT_NE(copy, shape);
  EXPECT_EQ(copy.corner_if()->x, 1.5);
  copy = std::move(shape);
  EXPECT_EQ(copy.name(), "ball");
  copy.select(kitchen::Color::GREEN);
  copy.set_name(copy.name());
  EXPECT_EQ(copy.name(), "ball");

  auto& corner = shape.emplace_corner(point<S>(1));
  EXPECT_EQ(&corner, shape.corner_if());
  EXPECT_EQ(corner.x, 1.5);
  EXPECT_EQ(shape.emplace_name("ball").size(), 4U);
  EXPECT_EQ(shape.discriminator(), kitchen::Color::GREEN) << "the first label of the case";
  EXPECT_EQ(shape.emplace_name(shape.name(), 1, 2), "al") << "a part of the old value";
  EXPECT_EQ(shape.emplace_name(), "") << "a new value, although the old one is of the same member";
  EXPECT_EQ(shape.emplace_radius(2.5), 2.5);
  EXPECT_EQ(*shape.try_emplace_name("box"), "box");

  kitchen::Toggle_<S> toggle;
  EXPECT_TRUE(toggle.has_level());
  toggle.select(false);
  EXPECT_EQ(toggle.index(), situ::no_alternative);
  EXPECT_EQ(toggle, kitchen::Toggle_<S>(toggle));
  EXPECT_THROW((void)toggle.level(), situ::bad_union_access);

  extras::Verdict_<S> verdict;
  verdict.set_discriminator("guilty");
  EXPECT_EQ(verdict.discriminator_(), "guilty");
  EXPECT_EQ(verdict.discriminator(), extras::Level::HIGH);
  verdict.set_index(3);
  EXPECT_EQ(verdict.index_(), 3);
}

TEST(Message, unions_hold_one_member) {
  expect_union_behaviour<flat>();
  expect_union_behaviour<heap>();
}

TEST(Message, bulk_fields_lie_behind_each_other_in_the_body) {
  built<kitchen::Derived> m(
      {.base = {.left = {.samples = 2}}, .raw = 70, .right = {.samples = 1}, .points = 2});
  // Each at a multiple of 64: 8 bytes, 70, 4, 32, and nothing.
  EXPECT_EQ(m->base.left.samples, (situ::bulk_ref<float>(0, 2)));
  EXPECT_EQ(m->raw, (situ::bulk_ref<std::uint8_t>(64, 70)));
  EXPECT_EQ(m->right.samples, (situ::bulk_ref<float>(192, 1)));
  EXPECT_EQ(m->points, (situ::bulk_ref<kitchen::Point, 100>(256, 2)));
  EXPECT_EQ(m->none, (situ::bulk_ref<double>(320, 0)));
  EXPECT_EQ(m.body().size(), 320U);
  EXPECT_EQ(situ::bulk_lengths_of(*m).base.left.samples, 2U);
  EXPECT_EQ(m->raw.span(m.body()).size(), 70U);
  EXPECT_THROW((void)m->raw.span(m.body().first(100)), situ::bulk_error);
}

TEST(Message, booleans_in_the_body_are_checked) {
  built<extras::Lamps> m({.on = 3, .lamps = 2});
  m->on.span(m.body())[1] = true;
  m->lamps.span(m.body())[1].lit = true;
  EXPECT_TRUE(m->on.span(std::as_const(m).body())[1]);
  m.body()[2] = std::byte{2};
  EXPECT_FALSE(m->on.try_span(std::as_const(m).body()));
  EXPECT_FALSE(m->on.span(m.body())[2]) << "a writable boolean is false";
  EXPECT_TRUE(m->on.try_span(std::as_const(m).body()));
  m.body()[64 + 8 + 4] = std::byte{7};
  EXPECT_FALSE(m->lamps.try_span(std::as_const(m).body()));
  EXPECT_THROW((void)m->lamps.span(std::as_const(m).body()), situ::bulk_error);
  const auto bytes = situ::encode_to_vector(*m, situ::encoding::xcdr2, m.body());
  EXPECT_FALSE(bytes) << "an invalid boolean is not encoded";
}

TEST(Message, impossible_lengths_have_no_body_size) {
  EXPECT_EQ(kitchen::Derived::body_size({}), 0U);
  EXPECT_EQ(kitchen::Derived::body_size({.base = {}, .raw = 5, .right = {}, .points = 100}), 64U + 1600U);
  EXPECT_FALSE(kitchen::Derived::body_size({.base = {}, .raw = 0, .right = {}, .points = 101}))
      << "the length exceeds its bound";
  EXPECT_FALSE(kitchen::Derived::body_size({.base = {}, .raw = ~std::size_t{0}}));
  EXPECT_FALSE(
      kitchen::Derived::body_size({.base = {}, .raw = ~std::size_t{0} / 2, .right = {.samples = 1}}));
  EXPECT_EQ(kitchen::Point::body_size({}), 0U);
  EXPECT_EQ(situ::sensor::Image::body_size({.data = 4'000'000}), 4'000'000U);
}

TEST(Message, converts_between_storages) {
  kitchen::Containers a;
  fill(a);
  const kitchen::Containers_<heap> heaped = situ::to_heap(a);
  EXPECT_EQ(to_string(heaped), to_string(a));
  kitchen::Containers back;
  ASSERT_TRUE(situ::convert(heaped, back));
  EXPECT_EQ(back, a);

  kitchen::Unions unions;
  fill(unions);
  kitchen::Unions unions_back;
  ASSERT_TRUE(situ::convert(situ::to_heap(unions), unions_back));
  EXPECT_EQ(unions_back, unions);

  kitchen::Optionals optionals;
  fill(optionals);
  kitchen::Optionals optionals_back;
  optionals_back.no_number = 3;
  ASSERT_TRUE(situ::convert(situ::to_heap(optionals), optionals_back));
  EXPECT_EQ(optionals_back, optionals);
}

TEST(Message, converts_bulk_fields) {
  built<kitchen::Derived> original(derived_lengths);
  fill(*original, original.body());
  const kitchen::Derived_<heap> heaped = situ::to_heap(*original, original.body());
  EXPECT_EQ(heaped.raw.size(), 70U);
  EXPECT_EQ(heaped.points[1].x, 1e300);
  const auto lengths = situ::bulk_lengths_of(heaped);
  built<kitchen::Derived> back({.base = {.left = {.samples = lengths.base.left.samples}},
                                .raw = lengths.raw,
                                .right = {.samples = lengths.right.samples},
                                .points = lengths.points,
                                .none = lengths.none});
  ASSERT_TRUE(situ::convert(heaped, *back, {}, back.body()));
  EXPECT_EQ(situ::to_heap(*back, back.body()), heaped);
  built<kitchen::Derived> other({.base = {}, .raw = 3});
  const auto refused = situ::convert(heaped, *other, {}, other.body());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "left.samples: 2 elements do not fit into 0");
  EXPECT_THROW((void)situ::to_heap(*original), situ::bound_error) << "without its body";
}

template <class S>
void expect_named_bounds() {
  const auto field = [](auto&& change) {
    kitchen::Containers_<S> m;
    fill(m);
    try {
      situ::edit(m, change);
      return std::string("no error");
    } catch (const situ::bound_error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(field([](auto& m) { m.text = "far too long"; }),
            "bound exceeded in field 'text': 12 elements do not fit into a bound of 10");
  EXPECT_EQ(field([](auto& m) { m.shorts.resize(9); }),
            "bound exceeded in field 'shorts': 9 elements do not fit into a bound of 5");
  EXPECT_EQ(field([](auto& m) { m.labels[1].text += "9"; }),
            "bound exceeded in field 'labels[1].text': 9 elements do not fit into a bound of 8");
  EXPECT_EQ(field([](auto& m) { m.nested[1].resize(5); }),
            "bound exceeded in field 'nested[1]': 5 elements do not fit into a bound of 4");
  EXPECT_EQ(field([](auto& m) { m.label_array[0][1].text = "123456789"; }),
            "bound exceeded in field 'label_array[0][1].text': 9 elements do not fit into a bound of 8");
  EXPECT_EQ(field([](auto& m) {
              for (std::uint16_t i = 0; i < 9; ++i) m.numbers[i] = 0;
            }),
            "bound exceeded in field 'numbers': 4 elements do not fit into a bound of 3");
  EXPECT_EQ(field([](auto& m) { m.by_color.begin()->second.text = "123456789"; }),
            "bound exceeded in field 'by_color[0].text': 9 elements do not fit into a bound of 8");
  EXPECT_EQ(field([](auto&) { situ::flat::string<1>() = "elsewhere"; }),
            "bound exceeded: 9 elements do not fit into a bound of 1");
  EXPECT_EQ(field([](auto& m) { m.text = "fits"; }), "no error");
  kitchen::Unions_<S> unions;
  try {
    situ::edit(unions, [](auto& m) { m.named.set_name("too long"); });
    FAIL() << "no exception";
  } catch (const situ::bound_error& error) {
    EXPECT_EQ(error.field(), "named.name");
  }
}

TEST(Message, errors_name_the_field_whose_bound_was_exceeded) {
  expect_named_bounds<flat>();
  expect_named_bounds<heap>();
}

TEST(Message, types_of_two_files_may_contain_each_other) {
  plants::Leaf leaf;
  leaf.grafted.emplace_back().leaves.emplace_back().color = "green";
  EXPECT_EQ(to_string(leaf),
            "plants::Leaf{color: \"\", grafted: [plants::Branch{leaves: [plants::Leaf{color: \"green\", "
            "grafted: []}]}]}");
}

TEST(Message, is_built_in_place_in_no_time) {
  using image = situ::sensor::Image;
  alignas(image) std::byte memory[sizeof(image)];
  image* made = image::init_at(memory, {.data = 7'500'000});
  EXPECT_EQ(made->data, (situ::bulk_ref<std::uint8_t>(0, 7'500'000)));
  EXPECT_EQ(made->height, 0U);
  static_assert(sizeof(image) < 256, "the pixels are not part of the head");
}

}  // namespace
