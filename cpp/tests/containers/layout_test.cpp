// The bytes of the flat containers, and which bytes their construction writes.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "situ/layout/policy.hpp"
#include "situ/layout/storage.hpp"

namespace {

using situ::flat;

template <class T>
std::vector<std::uint8_t> bytes_of(const T& value) {
  std::vector<std::uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), static_cast<const void*>(&value), sizeof(T));
  return bytes;
}

/// Builds a T in zeroed memory.
template <class T>
class zeroed {
 public:
  T& operator*() { return *value_; }
  std::vector<std::uint8_t> bytes() const { return bytes_of(*value_); }

 private:
  /// Prevents the compiler from leaving memory unzeroed in which an object is constructed next.
  static void* keep(std::byte* memory) {
    asm volatile("" : : "r"(memory) : "memory");
    return memory;
  }

  alignas(T) std::byte memory_[sizeof(T)] = {};
  T* value_ = ::new (keep(memory_)) T;
};

using bytes = std::vector<std::uint8_t>;

TEST(Layout, string) {
  zeroed<flat::string<5>> text;
  *text = "hey";
  EXPECT_EQ(text.bytes(), (bytes{3, 0, 0, 0, 'h', 'e', 'y', 0, 0, 0, 0, 0}));
  static_assert(sizeof(flat::string<5>) == 12 && alignof(flat::string<5>) == 4);
}

TEST(Layout, wstring) {
  zeroed<flat::wstring<3>> text;
  *text = u"h\u00e9";
  EXPECT_EQ(text.bytes(), (bytes{2, 0, 0, 0, 'h', 0, 0xe9, 0, 0, 0, 0, 0}));
}

TEST(Layout, sequence) {
  zeroed<flat::sequence<std::uint16_t, 3>> numbers;
  (*numbers).assign({0x0102, 0x0304});
  EXPECT_EQ(numbers.bytes(), (bytes{2, 0, 0, 0, 2, 1, 4, 3, 0, 0, 0, 0}));
  static_assert(sizeof(flat::sequence<double, 2>) == 24, "the elements are aligned");
}

TEST(Layout, map) {
  zeroed<flat::map<std::uint16_t, std::int16_t, 3>> map;
  (*map)[9] = 0x0A;
  (*map)[3] = 0x0B;
  EXPECT_EQ(map.bytes(), (bytes{2, 0, 0, 0, 3, 0, 11, 0, 9, 0, 10, 0, 0, 0, 0, 0}));
  static_assert(sizeof(flat::map<std::uint8_t, std::uint32_t, 3>) == 4 + 3 * 8, "the values are aligned");
}

TEST(Layout, optional) {
  zeroed<flat::optional<std::uint32_t>> number;
  EXPECT_EQ(number.bytes(), (bytes{0, 0, 0, 0, 0, 0, 0, 0}));
  *number = 7;
  EXPECT_EQ(number.bytes(), (bytes{1, 0, 0, 0, 7, 0, 0, 0}));
}

TEST(Layout, bulk) {
  zeroed<flat::bulk<float>> where;
  *where = flat::bulk<float>(64, 3);
  EXPECT_EQ(where.bytes(), (bytes{64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Layout, flat_containers_need_no_destruction) {
  static_assert(std::is_trivially_destructible_v<flat::string<5>>);
  static_assert(std::is_trivially_destructible_v<flat::sequence<flat::string<5>, 3>>);
  static_assert(std::is_trivially_destructible_v<flat::map<int, flat::string<5>, 3>>);
  static_assert(std::is_trivially_destructible_v<flat::optional<flat::string<5>>>);
  static_assert(std::is_standard_layout_v<flat::map<int, flat::string<5>, 3>>);
  static_assert(std::is_standard_layout_v<flat::optional<flat::string<5>>>);
}

/// A message in the form that the generator writes: the constructor keeps `big{}` and `big()` from zeroing
/// the whole object first.
struct big {
  big() {}  // NOLINT(modernize-use-equals-default)

  std::uint32_t height = 7;
  flat::string<1000> name{};
  flat::sequence<std::uint8_t, 7'500'000> data{};
  std::array<flat::sequence<double, 1000>, 3> parts{};
  flat::map<std::uint32_t, flat::string<100>, 1000> map{};
  flat::optional<std::array<double, 5000>> maybe{};
};

/// The number of bytes that a construction wrote to.
template <class Build>
std::size_t touched(Build&& build) {
  const auto memory = std::make_unique<std::byte[]>(sizeof(big) + alignof(big));
  void* place = memory.get();
  std::size_t room = sizeof(big) + alignof(big);
  place = std::align(alignof(big), sizeof(big), place, room);
  std::memset(place, 0xA5, sizeof(big));
  // Otherwise the compiler may skip bytes that a constructor overwrites.
  asm volatile("" : : "r"(place) : "memory");
  build(place);
  asm volatile("" : : "r"(place) : "memory");
  const auto* first = static_cast<const unsigned char*>(place);
  return static_cast<std::size_t>(
      std::count_if(first, first + sizeof(big), [](unsigned char c) { return c != 0xA5; }));
}

TEST(Layout, construction_touches_lengths_only) {
  // height, a length and a zero, a length each for data, three parts and the map, one presence byte.
  constexpr std::size_t expected = 4 + (4 + 1) + 4 + 3 * 4 + 4 + 1;
  EXPECT_EQ(touched([](void* place) { ::new (place) big; }), expected);
  EXPECT_EQ(touched([](void* place) { ::new (place) big{}; }), expected);
  EXPECT_EQ(touched([](void* place) { ::new (place) big(); }), expected);
  EXPECT_EQ(touched([](void* place) { situ::detail::construct<big>(place); }), expected);
  EXPECT_EQ(touched([](void* place) {
              auto* made = ::new (place) flat::sequence<big, 1>;
              (void)made;
            }),
            4U);
}

TEST(Layout, constructing_megabytes_takes_no_time) {
  const auto memory = std::make_unique<std::byte[]>(sizeof(big) + alignof(big));
  void* place = memory.get();
  std::size_t room = sizeof(big) + alignof(big);
  place = std::align(alignof(big), sizeof(big), place, room);
  auto best = std::chrono::nanoseconds::max();
  for (int run = 0; run < 100; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    ::new (place) big;
    best = std::min(best, std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin));
  }
  // Zeroing 7.5 MB takes hundreds of microseconds on any machine; a few stores take much less, even
  // unoptimized.
  EXPECT_LT(best, std::chrono::microseconds(20));
}

TEST(Layout, copying_touches_elements_only) {
  flat::sequence<std::uint8_t, 7'500'000>* source = new flat::sequence<std::uint8_t, 7'500'000>;
  source->assign(10, 1);
  const auto memory = std::make_unique<unsigned char[]>(sizeof(*source));
  std::memset(memory.get(), 0xA5, sizeof(*source));
  asm volatile("" : : "r"(memory.get()) : "memory");
  auto* copy = ::new (static_cast<void*>(memory.get())) flat::sequence<std::uint8_t, 7'500'000>(*source);
  EXPECT_EQ(*copy, *source);
  EXPECT_EQ(
      std::count_if(memory.get(), memory.get() + sizeof(*source), [](unsigned char c) { return c != 0xA5; }),
      14);
  delete source;
}

TEST(Storage, constructs_moves_and_destroys_elements) {
  situ::storage<4, std::string, situ::inline_allocator<std::string>> in_place;
  situ::storage<4, std::string, std::allocator<std::string>> on_heap;
  const auto exercise = [](auto& storage) {
    using S = std::remove_reference_t<decltype(storage)>;
    storage.reserve(2, 0);
    storage.construct_at(0, "zero");
    storage.construct_at(1, 3U, 'x');
    S moved(std::move(storage), 2);
    EXPECT_EQ(moved[0], "zero");
    EXPECT_EQ(moved[1], "xxx");
    S other;
    other.reserve(1, 0);
    other.construct_at(0, "gone");
    EXPECT_TRUE(other.take(std::move(moved), 1, 2));
    EXPECT_EQ(other[1], "xxx");
    other.destroy_at(0);
    other.destroy_at(1);
  };
  exercise(in_place);
  exercise(on_heap);
}

}  // namespace
