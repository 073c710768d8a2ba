// The messages of spec/vectors/kitchen.py, built by hand with either storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "kitchen.hpp"

namespace situ_test {

using situ::flat;
using situ::heap;

/// A body with aligned elements.
class aligned_body {
 public:
  explicit aligned_body(std::size_t size) : storage_(size / sizeof(line) + 1), size_(size) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(storage_)).first(size_); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(storage_)).first(size_); }

 private:
  struct alignas(situ::bulk_alignment) line {
    std::byte bytes[situ::bulk_alignment] = {};
  };
  std::vector<line> storage_;
  std::size_t size_;
};

/// A message in memory that was zero before, with the body of a flat one.
template <class T>
class built {
 public:
  explicit built(const typename T::bulk_lengths& lengths = {}) : body_(T::body_size(lengths).value()) {
    memory_ = std::make_unique<block>();
    std::memset(static_cast<void*>(memory_->bytes), 0, sizeof(T));
    // Prevents the compiler from leaving memory unzeroed in which an object is constructed next.
    asm volatile("" : : "r"(memory_.get()) : "memory");
    message_ = T::init_at(memory_->bytes, lengths);
  }
  built(built&&) = delete;
  ~built() { message_->~T(); }

  T& operator*() { return *message_; }
  const T& operator*() const { return *message_; }
  T* operator->() { return message_; }
  const T* operator->() const { return message_; }
  std::span<std::byte> body() { return body_.bytes(); }
  std::span<const std::byte> body() const { return body_.bytes(); }
  std::vector<std::uint8_t> head_bytes() const {
    return std::vector<std::uint8_t>(memory_->bytes, memory_->bytes + sizeof(T));
  }

 private:
  struct block {
    alignas(T) std::uint8_t bytes[sizeof(T)];
  };
  std::unique_ptr<block> memory_;
  aligned_body body_;
  T* message_ = nullptr;
};

template <class S>
kitchen::Point_<S> point(int which) {
  return which == 1 ? kitchen::Point_<S>{.x = 1.5, .y = -2.25F} : kitchen::Point_<S>{.x = 1e300, .y = 0.5F};
}

template <class S>
kitchen::Label_<S> label(int which) {
  kitchen::Label_<S> made;
  made.text = which == 1 ? "h\u00e9" : "12345678";
  if (which == 1) made.place = point<S>(1);
  return made;
}

inline void fill(kitchen::Primitives& m) {
  m.truth = true;
  m.byte = 0xFE;
  m.letter = 'k';
  m.wide_letter = u'\u20ac';
  m.tiny = -7;
  m.small_ = 200;
  m.shorter = -30000;
  m.shorter_unsigned = 60000;
  m.number = -2'000'000'000;
  m.number_unsigned = 4'000'000'000;
  m.longer = -9'000'000'000'000'000'000;
  m.longer_unsigned = 18'000'000'000'000'000'000U;
  m.ratio = 0.15625F;
  m.precise = -1e-300;
  m.color = kitchen::Color::ULTRAVIOLET;
  m.access = kitchen::Access::READ | kitchen::Access::OWN;
  m.wheels = kitchen::Wheels::LEFT | kitchen::Wheels::RIGHT;
  m.features = kitchen::Features::HORN;
  m.wide = kitchen::Wide::LOW | kitchen::Wide::HIGH;
}

template <class S>
void fill(kitchen::Containers_<S>& m) {
  m.text = "k\u00f6ln";
  m.wide_text = u"a\u20ac";
  m.flags = {true, false, true};
  m.shorts = {1, 2, 65535};
  m.doubles = {0.5, -0.25};
  m.colors = {kitchen::Color::GREEN, kitchen::Color::ULTRAVIOLET, kitchen::Color{77}};
  m.words = {"", "f\u00fcnf", "abc"};
  m.points = {point<S>(1), point<S>(2)};
  m.labels = {label<S>(1), label<S>(2)};
  m.matrices.push_back({{{1, 2, 3}, {4, 5, 6}}});
  m.nested.resize(2);
  m.nested[0] = {1, 2, 3};
  m.array = {-1, 0, 1};
  m.color_array = {kitchen::Color::BLUE, kitchen::Color::RED};
  m.matrix = {{{0.5, 1.5, 2.5}, {3.5, 4.5, 5.5}}};
  m.label_array[0] = {label<S>(2), label<S>(1)};
  m.numbers[500] = -5;
  m.numbers[2] = 3;
  m.ages["b"] = 2;
  m.ages[""] = 0;
  m.ages["\u00e4"] = 3;
  m.by_color[kitchen::Color::GREEN] = label<S>(1);
  m.by_color[kitchen::Color::ULTRAVIOLET] = label<S>(2);
}

template <class S>
void fill(kitchen::Optionals_<S>& m) {
  m.before = 1;
  m.number = -5;
  m.text = "there";
  m.label = label<S>(1);
  m.shorts.emplace() = {1, -1};
  m.after = 2;
  m.last = true;
}

template <class S>
void fill(kitchen::Unions_<S>& m) {
  m.round.set_radius(2.5);
  m.named.set_name("box", kitchen::Color::BLUE);
  m.cornered.set_corner(point<S>(1));
  m.on.set_level(-9);
  m.off.select(false);
  m.letters.select('b');
  m.letters.shorts() = {1, 2};
  m.sizes.set_little(-100);
  m.shapes.resize(2);
  m.shapes[0].set_name("ball");
  m.shapes[1].set_radius(0.125);
}

constexpr kitchen::Derived::bulk_lengths derived_lengths{
    .base = {.left = {.samples = 2}}, .raw = 70, .right = {.samples = 1}, .points = 2, .none = 0};

/// For a flat message, with its body.
template <class S>
void fill(kitchen::Derived_<S>& m, std::span<std::byte> body) {
  const auto elements = [body](auto& field) {
    if constexpr (requires { field.span(body); }) {
      return field.span(body);
    } else {
      return std::span(field);
    }
  };
  m.base.id = 258;
  m.base.left.rate = 10;
  elements(m.base.left.samples)[0] = 0.5F;
  elements(m.base.left.samples)[1] = 1.5F;
  for (std::size_t i = 0; i < 70; ++i) elements(m.raw)[i] = static_cast<std::uint8_t>(i);
  m.between = 9;
  m.right.rate = 20;
  elements(m.right.samples)[0] = -0.5F;
  elements(m.points)[0] = point<S>(1);
  elements(m.points)[1] = point<S>(2);
}

inline kitchen::Growing growing(int which) {
  kitchen::Growing m;
  m.first = which == 1 ? -2 : 3;
  if (which != 1) return m;
  m.maybe = 7;
  m.second = "two";
  m.bytes = {1, 2, 3};
  return m;
}

inline void fill(kitchen::Growing& m) { m = growing(1); }

inline void fill(kitchen::Changing& m) {
  m.small_number = 255;
  m.large_id = -1;
  m.text = "must";
  m.present = 0.75;
  m.parts = {growing(1), growing(2)};
  m.color = kitchen::Color::GREEN;
  m.part = growing(2);
  m.last = 43;
}

inline void fill(kitchen::Heaped& m) {
  m.wide_text = u"w\u00f6rld";
  m.flags = {true, true, false};
  m.words = {"one", ""};
  m.names = {{-1, "minus"}, {7, "seven"}};
  m.growing = {growing(2), growing(1)};
  m.choice.set_text("text");
  m.other_choice.set_number(-3);
  m.pick.set_number(-4);
  m.nothing_picked.select(9);
  m.tree.name = "root";
  m.tree.ages = {{"z", 1}, {"a", 2}};
  m.tree.children.resize(2);
  m.tree.children[0].name = "leaf";
  m.tree.children[1].ages = {{"", 3}};
  m.behind = 6.5;
}

/// Fills the message in any storage.
inline void fill_thicket(auto& m) {
  m.name = "root";
  m.by_number[-1].resize(2);
  m.by_number[-1][0].name = "left";
  m.by_number[-1][1].name = "right";
  m.by_number[7];
  m.rows.resize(3);
  m.rows[0].resize(1);
  m.rows[0][0].name = "a";
  m.rows[2].resize(2);
  m.rows[2][0].name = "b";
  m.rows[2][0].maybe.emplace().resize(1);
  (*m.rows[2][0].maybe)[0].name = "below b";
  m.rows[2][1].name = "c";
  m.maybe.emplace().resize(1);
  auto& perhaps = (*m.maybe)[0];
  perhaps.name = "perhaps";
  perhaps.rows.resize(1);
  perhaps.rows[0].resize(1);
  perhaps.rows[0][0].name = "a name that is long";
}

inline void fill(kitchen::Thicket& m) { fill_thicket(m); }

}  // namespace situ_test
