// Checks that bytes are a valid region before they are used: canonical images with one cursor, live images
// with a bitmap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "situ/region/detail/later.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/image/versions.hpp"
#include "situ/region/memory/reached.hpp"
#include "situ/region/packed/place.hpp"

namespace situ::region_detail {

/// The bits that are set in any of `count` bytes, combined over groups of eight bytes. `count` is usually a
/// constant, such as the number of bytes between two members.
[[gnu::always_inline]] inline std::uint64_t any_bits(const std::byte* at, std::uint32_t count) noexcept {
  const auto load = [at]<class Word>(std::uint32_t offset, Word word) {
    std::memcpy(&word, at + offset, sizeof(word));
    return std::uint64_t{word};
  };
  std::uint64_t any = 0;
  if (count >= 8) {
    // The last word may overlap the word before it.
    any = load(count - 8, std::uint64_t{0});
    for (std::uint32_t i = 0; i + 8 < count; i += 8) any |= load(i, std::uint64_t{0});
  } else if (count >= 4) {
    any = load(0, std::uint32_t{0}) | load(count - 4, std::uint32_t{0});
  } else if (count != 0) {
    any = load(0, std::uint8_t{0}) | load(count / 2, std::uint8_t{0}) | load(count - 1, std::uint8_t{0});
  }
  return any;
}

/// The bitmap in which the check of a live image marks used granules. For images of up to 64 KiB it lies in
/// the caller's frame. For larger images it lies in a vector, which may be kept from image to image.
class check_bitmap {
 public:
  explicit check_bitmap(std::vector<std::uint64_t>& for_large) noexcept : for_large_(for_large) {}
  check_bitmap(const check_bitmap&) = delete;
  check_bitmap& operator=(const check_bitmap&) = delete;

  /// Zeroes the bitmap for an image of `size` bytes.
  void begin(std::uint32_t size) {
    const std::size_t words = (std::size_t{size} / granule + 63) / 64;
    if (words <= std::size(small_)) {
      std::memset(small_, 0, words * sizeof(*small_));
      words_ = small_;
    } else {
      for_large_.assign(words, 0);
      words_ = for_large_.data();
    }
  }
  /// Returns null if the image is canonical, because then no granule was marked.
  [[nodiscard]] std::uint64_t* words() noexcept { return words_; }

 private:
  std::uint64_t* words_ = nullptr;
  std::vector<std::uint64_t>& for_large_;
  std::uint64_t small_[64];
};

/// Checks an image. In a canonical image each block must begin at the end of the block before it, so that no
/// blocks overlap and no bytes are left over. In a live image each block marks its bits of a zeroed bitmap.
template <bool Canonical>
class checker {
 public:
  static constexpr bool canonical = Canonical;

  /// `versions` describes an image with appendable structs in other versions than this program's. Otherwise
  /// it is null.
  checker(const std::byte* image, std::uint32_t size, std::uint32_t root_size, std::uint64_t* bits,
          const image_versions* versions) noexcept
      : image_(image),
        size_(size),
        cursor_(root_offset + static_cast<std::uint32_t>(in_granules(root_size))),
        bits_(bits),
        versions_(versions) {
    if constexpr (!Canonical) mark_bits<false>(bits_, 0, cursor_ / granule);
  }

  /// A walk over values of a valid image, to mark what they reach. It does not visit the shared values in
  /// `known` again, and adds those that it visits.
  checker(const std::byte* image, std::uint32_t size, std::uint64_t* bits,
          std::unordered_map<std::uint32_t, met_value>& known) noexcept
      : image_(image), size_(size), cursor_(0), bits_(bits), versions_(nullptr), known_(&known) {}
  /// A search for the byte at `sought`, in all that a value of a valid image leads to.
  checker(const std::byte* image, std::uint32_t size, std::uint32_t sought,
          std::unordered_map<std::uint32_t, met_value>& known) noexcept
      : checker(image, size, nullptr, known) {
    sought_ = sought;
  }
  /// Whether a search met the byte.
  [[nodiscard]] bool found() const noexcept { return found_; }
  /// Walks the shared value `offset` bytes into a block, unless it is known. Returns false without memory.
  template <class T>
  [[nodiscard]] bool walk_shared(std::uint32_t block, std::uint32_t offset) {
    std::uint32_t claimed = 0;
    return met().contains(block) || (claim(block, 0, offset + sizeof(T), offset + sizeof(T), claimed) &&
                                     first_shared<T>(block, offset) && (later_.is_empty() || check_noted()));
  }

  [[nodiscard]] const std::byte* at(std::uint32_t offset) const noexcept { return image_ + offset; }
  [[nodiscard]] std::uint32_t cursor() const noexcept { return cursor_; }
  [[nodiscard]] region_invalid take_error() noexcept { return std::move(error_); }

  // Separate functions store the problem, and their callers return a literal false. Compilers can therefore
  // see that the checked path ends there.
  [[gnu::always_inline]] bool fail(region_problem problem, std::uint32_t at, std::uint64_t found,
                                   std::uint64_t limit = 0) {
    note(problem, at, found, limit);
    return false;
  }
  [[gnu::always_inline]] bool outside(std::uint32_t at, std::uint64_t found) {
    return fail(region_problem::outside, at, found, size_);
  }
  [[gnu::always_inline]] bool enter_member(std::string_view name) {
    note_member(name);
    return false;
  }
  [[gnu::always_inline]] bool enter_element(std::size_t index) {
    note_element(index);
    return false;
  }

  [[nodiscard, gnu::always_inline]] bool back_link(std::uint32_t at, std::int32_t region) {
    if (region == -static_cast<std::int32_t>(at)) return true;
    return fail(region_problem::wrong_back_link, at, static_cast<std::uint64_t>(std::int64_t{region}));
  }
  /// The checks for all containers of 16 bytes.
  [[nodiscard, gnu::always_inline]] bool container(std::uint32_t at, std::int32_t region, std::uint64_t len,
                                                   std::uint64_t cap, std::uint64_t wanted_cap) {
    return back_link(at, region) && fits(at, len, cap, wanted_cap);
  }
  [[nodiscard, gnu::always_inline]] bool fits(std::uint32_t at, std::uint64_t len, std::uint64_t cap,
                                              std::uint64_t wanted_cap) {
    if (len > cap) return fail(region_problem::too_long, at, len, cap);
    if (cap != wanted_cap) return fail(region_problem::not_trimmed, at, cap, wanted_cap);
    return true;
  }
  /// In canonical images, checks that the link at `at` leads to the place of the next block, which is claimed
  /// next.
  [[nodiscard]] bool placed(std::uint32_t at, std::int32_t link) {
    const std::int64_t to = std::int64_t{at} + link;
    return !Canonical || is_placed(to) ||
           fail(region_problem::misplaced, at, static_cast<std::uint64_t>(to), cursor_);
  }
  /// Finds the block to which the link at `at` leads. At least one granule of it lies in the image, so that
  /// its size can be read there. The block is not claimed yet.
  [[nodiscard]] bool peek(std::uint32_t at, std::int32_t link, std::uint32_t& block) {
    const std::int64_t to = std::int64_t{at} + link;
    if (to < root_offset || to + granule > std::int64_t{size_})
      return outside(at, static_cast<std::uint64_t>(to));
    block = static_cast<std::uint32_t>(to);
    return block % granule == 0 || fail(region_problem::unaligned_link, at, block);
  }
  /// Whether the link at `at` leads to the cursor and `bytes` of the image follow there. The block is not
  /// taken yet.
  [[nodiscard, gnu::always_inline]] bool is_next(std::uint32_t at, std::int32_t link,
                                                 std::uint32_t bytes) const noexcept {
    // All blocks are whole granules, and so is the image.
    return at + static_cast<std::uint32_t>(link) == cursor_ && bytes <= size_ - cursor_;
  }
  [[gnu::always_inline]] void take_next(std::uint32_t bytes) noexcept {
    cursor_ += static_cast<std::uint32_t>(in_granules(bytes));
  }
  /// Claims the block of `bytes` to which the link at `at` leads. `used` bytes of the block are in use.
  [[nodiscard, gnu::always_inline]] bool claim(std::uint32_t at, std::int32_t link, std::uint64_t bytes,
                                               std::uint64_t used, std::uint32_t& block) {
    const std::int64_t to = std::int64_t{at} + link;
    const std::uint64_t whole = in_granules(bytes);
    if constexpr (Canonical) {
      if (to != cursor_ && !skips_to(to)) {
        return fail(region_problem::misplaced, at, static_cast<std::uint64_t>(to), cursor_);
      }
      if (whole > size_ - cursor_) return outside(at, static_cast<std::uint64_t>(to) + whole);
      block = cursor_;
      cursor_ += static_cast<std::uint32_t>(whole);
      return rest_is_zero(block + static_cast<std::uint32_t>(used));
    } else {
      if (to < root_offset || to > std::int64_t{size_} || whole > size_ - static_cast<std::uint64_t>(to)) {
        return outside(at, static_cast<std::uint64_t>(to));
      }
      block = static_cast<std::uint32_t>(to);
      if (block % granule != 0) return fail(region_problem::unaligned_link, at, block);
      if (bits_ == nullptr) [[unlikely]] {
        found_ = found_ || sought_ - block < whole;
        return true;
      }
      if (!take_block(block / granule, static_cast<std::uint32_t>(whole / granule)) && known_ == nullptr)
        return fail(region_problem::overlap, at, block);
      return true;
    }
  }
  /// The size in the image of a struct at `at`, or behind the link there.
  template <class T>
  [[nodiscard]] bool size_of(std::uint32_t at, std::uint32_t& size) {
    size = sizeof(T);
    if constexpr (appendable<T>) {
      if (versions_ != nullptr) {
        const auto* const known = versions_->of<T>();
        if (known == nullptr) return not_in_table(at);
        size = known->size;
      }
    }
    return true;
  }
  /// Whether the image may contain blocks that are unknown to this program.
  [[nodiscard]] bool is_newer() const noexcept { return versions_ != nullptr && versions_->newer; }
  /// In canonical images, checks that unused bytes are zero.
  [[nodiscard, gnu::always_inline]] bool zero(std::uint32_t from, std::uint32_t to) {
    if constexpr (Canonical) {
      const std::uint32_t count = to - from;  // usually a constant, and zero
      if (count != 0 && any_bits(image_ + from, count) != 0) return fail_not_zero(from);
    }
    return true;
  }
  /// Checks that the block that ends at the cursor is zero from `used` on. Usually this is a part of its last
  /// granule.
  [[nodiscard, gnu::always_inline]] bool rest_is_zero(std::uint32_t used) {
    const std::uint32_t rest = cursor_ - used;
    if (rest == 0) return true;
    if (rest >= granule) return zero(used, cursor_);
    const halves last = load_halves(image_ + (cursor_ - granule));
    const halves unused = unused_mask(granule - rest);
    return ((last.low & unused.low) | (last.high & unused.high)) == 0 || fail_not_zero(used);
  }
  [[gnu::always_inline]] bool fail_not_zero(std::uint32_t from) {
    note_not_zero(from);
    return false;
  }
  // The next functions check packed images. Their blocks are not whole granules.

  /// Begins behind the header and the table of versions.
  void begin_packed(std::uint32_t cursor) noexcept { cursor_ = cursor; }
  /// Follows the link at `at`, which must lead to the next place at a multiple of `align`.
  [[nodiscard]] bool packed_link(std::uint32_t at, std::uint32_t align, std::uint32_t& place) {
    std::uint32_t link = 0;
    std::memcpy(&link, image_ + at, sizeof(link));
    place = at + link;
    const std::uint32_t wanted = (cursor_ + (align - 1)) / align * align;
    // Blocks that this program does not know may come before it.
    if (place != wanted && !(is_newer() && place > wanted && place % align == 0))
      return fail(region_problem::misplaced, at, place, wanted);
    if (place > size_) return outside(at, place);
    if (!is_newer() && !zero(cursor_, place)) return false;
    cursor_ = place;
    return true;
  }
  /// Takes the next `bytes` from a multiple of `align` on, for the container at `at`.
  [[nodiscard]] bool packed_room(std::uint32_t at, std::uint64_t bytes, std::uint32_t align,
                                 std::uint32_t& place) {
    const std::uint64_t begin = (std::uint64_t{cursor_} + (align - 1)) / align * align;
    if (begin + bytes > size_) return outside(at, begin + bytes);
    place = static_cast<std::uint32_t>(begin);
    if (!zero(cursor_, place)) return false;
    cursor_ = place + static_cast<std::uint32_t>(bytes);
    return true;
  }
  /// Takes the next length, which is at least `least`.
  [[nodiscard]] bool packed_length(std::uint32_t least, std::uint32_t& length) {
    const auto [found, behind] = read_packed_length(image_ + cursor_, image_ + size_);
    if (behind == nullptr || found < least) return fail(region_problem::bad_length, cursor_, cursor_);
    length = found;
    cursor_ = static_cast<std::uint32_t>(behind - image_);
    return true;
  }
  /// The number of members of an appendable struct in the image, and its size there, if they are others than
  /// this program's.
  template <class T>
  [[nodiscard]] bool packed_version(std::uint32_t at, std::uint32_t& members, std::uint32_t& size) {
    if (versions_ == nullptr) return true;
    const auto* const known = versions_->of<T>();
    if (known == nullptr) return fail(region_problem::bad_versions, at, packed_first);
    members = known->members;
    size = known->size;
    return true;
  }
  /// Takes the value to which the link at `at` leads.
  template <class T, class Form>
  [[nodiscard]] bool packed_value(std::uint32_t at, std::uint32_t& place) {
    std::uint32_t bytes = Form::size;
    if constexpr (appendable<T>) {
      std::uint32_t members = 0;
      if (!packed_version<T>(at, members, bytes)) return false;
    }
    return packed_link(at, Form::align, place) && packed_room(at, bytes, 1, place);
  }
  /// Checks the shared value at `to`, to which the link at `at` leads. The first link takes it.
  template <class T, class Form>
  [[nodiscard]] bool packed_shared(std::uint32_t at, std::uint32_t to) {
    if (const auto known = met().find(to); known != met().end())
      return shared_again<T>(known->second, at, to);
    std::uint32_t place = 0;
    if (!packed_value<T, Form>(at, place)) return false;
    note_edge(place);
    met_value& first = met().try_emplace(place, met_value{&type_mark<T>, 0, 1, true}).first->second;
    const std::uint32_t outer = std::exchange(within_, place);
    const bool good = deeper([this, place] { return Form::check(*this, place); });
    within_ = outer;
    first.open = false;
    return good;
  }

  /// Checks the target of a link with `inner()`: now, or after everything else.
  template <class Inner>
  [[nodiscard]] bool deeper(const Inner& inner) {
    return later_.run(inner, within_);
  }
  /// Checks everything that was noted, at the end of a check. A path of an error begins where the chain of
  /// links does that was noted.
  template <class Root>
  [[nodiscard]] bool finish() {
    return later_.is_empty() || (check_noted() && no_cycles<has<Root, shared_links>>());
  }
  /// Checks the shared value to which the link at `at` leads: `offset` bytes into a block that begins with
  /// the number of links. The first link to it claims the block and checks the value.
  template <class T>
  [[nodiscard]] bool shared(std::uint32_t at, std::int32_t link, std::uint32_t offset, std::uint32_t bytes) {
    std::uint32_t block = 0;
    if (!peek(at, link, block)) return false;
    if (const auto known = met().find(block); known != met().end()) {
      return shared_again<T>(known->second, at, block);
    }
    if (!claim(at, link, std::uint64_t{offset} + bytes, std::uint64_t{offset} + bytes, block)) return false;
    note_edge(block);
    return zero(block + 8, block + offset) && first_shared<T>(block, offset);
  }
  /// Notes the weak link at `at`, which leads to `to`. Its target is checked at the end.
  template <class T>
  void weak(std::uint32_t at, std::uint32_t to) {
    if (known_ == nullptr) weak_.push_back({at, to, &type_mark<T>});
  }
  /// Whether each weak link leads to a shared value of its type or, in a live image, to an expired block.
  [[nodiscard]] bool weak_targets() {
    for (const auto& [at, to, type] : weak_) {
      auto known = met().find(to);
      if (known == met().end()) {
        met_value gone{type, 0, 0, false};
        if constexpr (Canonical) {
          return fail(region_problem::weak_target, at, to);
        } else if (!expired(at, to, gone.weak)) {
          return false;
        }
        known = met().try_emplace(to, gone).first;
      }
      if (known->second.type != type) return fail(region_problem::shared_type, at, to);
      ++known->second.weak_found;
    }
    return true;
  }
  /// Whether the number of links found to each shared value equals its count. Called at the end.
  [[nodiscard]] bool shared_counts() {
    if (!weak_targets()) return false;
    // An image with more members has links that this program does not know.
    const auto differ = [newer = is_newer()](std::uint32_t count, std::uint32_t found) {
      return count < found || (count > found && !newer);
    };
    const std::pair<const std::uint32_t, met_value>* wrong = nullptr;
    for (const auto& each : met()) {
      const met_value& value = each.second;
      if ((differ(value.links, value.found) || differ(value.weak, value.weak_found)) &&
          (wrong == nullptr || each.first < wrong->first))
        wrong = &each;
    }
    if (wrong == nullptr) return true;
    const auto& [block, value] = *wrong;
    return differ(value.links, value.found)
               ? fail(region_problem::shared_count, block, value.links, value.found)
               : fail(region_problem::weak_count, block, value.weak, value.weak_found);
  }

  template <class T>
  [[nodiscard]] bool value(const T& value, std::uint32_t at) {
    if constexpr (region_detail::container<T>) {
      return value.situ_check(*this, at);
    } else if constexpr (boolean<T>) {
      const auto byte = std::to_integer<std::uint8_t>(image_[at]);
      return byte <= 1 || fail(region_problem::not_a_bool, at, byte);
    } else if constexpr (is_plain<T> && (!Canonical || is_dense<T>)) {
      return true;
    } else if constexpr (array<T>) {
      return elements(value.data(), static_cast<std::uint32_t>(value.size()), at);
    } else {
      std::uint32_t end = at;
      if constexpr (appendable<T>) {
        if (versions_ != nullptr) return known_members(value, at);
      }
      return for_each_member<T>([ this, at, &value, &end ](const auto& m) __attribute__((always_inline)) {
               using M = decltype(type_of(m));
               const auto begin_at = at + static_cast<std::uint32_t>(m.offset);
               if (!zero(end, begin_at)) return false;
               end = begin_at + std::uint32_t{sizeof(M)};
               return this->value(m.of(value), begin_at) || enter_member(m.name);
             }) &&
             zero(end, at + std::uint32_t{sizeof(T)});
    }
  }
  template <class T>
  [[nodiscard]] bool elements(const T* elements, std::uint32_t count, std::uint32_t at) {
    if constexpr (is_plain<T> && (!Canonical || is_dense<T>)) {
      return true;
    } else {
      if constexpr (boolean<T>) {
        // Tests all bytes at once, because nearly always all of them are valid booleans.
        constexpr std::uint64_t ones = 0x0101'0101'0101'0101U;
        if ((any_bits(image_ + at, count) & ~ones) == 0) return true;
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        if (!value(elements[i], at + i * std::uint32_t{sizeof(T)})) return enter_element(i);
      }
      return true;
    }
  }

 private:
  /// Claims the expired block to which the weak link at `at` leads, and reads the number of weak links that
  /// it states.
  [[nodiscard]] bool expired(std::uint32_t at, std::uint32_t to, std::uint32_t& weak) {
    if (to < root_offset || to > size_ - granule) {
      return outside(at, static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(to)}));
    }
    if (to % granule != 0) return fail(region_problem::unaligned_link, at, to);
    std::uint32_t links = 0;
    std::memcpy(&links, image_ + to, sizeof(links));
    std::memcpy(&weak, image_ + to + 4, sizeof(weak));
    const bool is_expired = links == 0 && any_bits(image_ + to + 8, granule - 8) == 0;
    return (is_expired && take_block(to / granule, 1)) || fail(region_problem::weak_target, at, to);
  }
  /// Marks the granules of a block, which has at least one. Most blocks lie in one word of the bitmap.
  [[gnu::always_inline]] bool take_block(std::uint32_t from, std::uint32_t count) noexcept {
    const std::uint32_t last = from + count - 1;
    if (from / 64 != last / 64) return take_words(from, count);
    const std::uint64_t mask = (~std::uint64_t{0} << (from % 64)) & (~std::uint64_t{0} >> (~last % 64));
    const std::uint64_t before = bits_[from / 64];
    bits_[from / 64] = before | mask;
    return (before & mask) == 0;
  }
  [[gnu::noinline]] bool take_words(std::uint32_t from, std::uint32_t count) noexcept {
    if (known_ == nullptr) return take_bits(bits_, from, count);
    mark_bits<false>(bits_, from, count);
    return true;
  }
  /// The shared values that were met.
  [[nodiscard]] std::unordered_map<std::uint32_t, met_value>& met() noexcept {
    return known_ == nullptr ? shared_ : *known_;
  }
  /// Notes a link from the shared value that is being checked.
  void note_edge(std::uint32_t block) {
    if (within_ != 0 && known_ == nullptr) edges_.emplace_back(within_, block);
  }
  /// Checks another link, at `at`, to a shared value.
  template <class T>
  [[nodiscard]] bool shared_again(met_value& to, std::uint32_t at, std::uint32_t block) {
    if (to.type != &type_mark<T>) return fail(region_problem::shared_type, at, block);
    if (to.open) return fail(region_problem::holds_itself, at, block);
    ++to.found;
    note_edge(block);
    return true;
  }
  /// Checks the shared value `offset` bytes into a block, which is met for the first time.
  template <class T>
  [[nodiscard]] bool first_shared(std::uint32_t block, std::uint32_t offset) {
    met_value seen{&type_mark<T>, 0, 1, true};
    std::memcpy(&seen.links, image_ + block, sizeof(seen.links));
    std::memcpy(&seen.weak, image_ + block + 4, sizeof(seen.weak));
    met_value& first = met().try_emplace(block, seen).first->second;
    const std::uint32_t outer = std::exchange(within_, block);
    const bool good = deeper(
        [this, place = block + offset] { return value(*reinterpret_cast<const T*>(image_ + place), place); });
    within_ = outer;
    first.open = false;
    return good;
  }
  [[gnu::cold, gnu::noinline]] void note(region_problem problem, std::uint32_t at, std::uint64_t found,
                                         std::uint64_t limit) noexcept {
    error_.problem = problem;
    error_.offset = at;
    error_.found = found;
    error_.limit = limit;
  }
  [[gnu::cold, gnu::noinline]] void note_not_zero(std::uint32_t from) noexcept {
    while (image_[from] == std::byte{0}) ++from;
    note(region_problem::not_zero, from, from, 0);
  }
  [[gnu::cold, gnu::noinline]] void note_member(std::string_view name) { error_.path.enter_member(name); }
  [[gnu::cold, gnu::noinline]] void note_element(std::size_t index) { error_.path.enter_element(index); }

  [[gnu::cold, gnu::noinline]] bool check_noted() {
    const auto begin = [this](std::uint32_t within) { within_ = within; };
    return later_.finish(0, begin) || enter_member("(deep)");
  }
  /// Checks that no chain of links leads from a shared value to itself. Without noted visits, this is known
  /// from values that are open.
  template <bool Shares>
  requires(!Shares) [[nodiscard]] bool no_cycles() { return true; }
  template <bool Shares>
  requires Shares [[nodiscard]] bool no_cycles() {
    // Removes values to which no link of another one leads, again and again.
    std::sort(edges_.begin(), edges_.end());
    std::unordered_map<std::uint32_t, std::uint32_t> links;
    for (const auto& edge : edges_) ++links[edge.second];
    std::vector<std::uint32_t> removed;
    for (const auto& each : met()) {
      if (!links.contains(each.first)) removed.push_back(each.first);
    }
    while (!removed.empty()) {
      const std::uint32_t block = removed.back();
      removed.pop_back();
      auto edge = std::lower_bound(edges_.begin(), edges_.end(), std::pair{block, std::uint32_t{0}});
      for (; edge != edges_.end() && edge->first == block; ++edge) {
        if (--links[edge->second] == 0) removed.push_back(edge->second);
      }
    }
    std::uint32_t least = 0;
    for (const auto& [block, left] : links) {
      if (left != 0 && (least == 0 || block < least)) least = block;
    }
    return least == 0 || fail(region_problem::holds_itself, least, least);
  }

  /// Reports that the table of versions does not contain the struct at `at`.
  [[gnu::cold]] bool not_in_table(std::uint32_t at) noexcept {
    std::uint32_t table = 0;
    std::memcpy(&table, image_ + offsetof(header, versions), sizeof(table));
    return fail(region_problem::bad_versions, at, table);
  }
  /// Whether a block of a canonical image may begin at `to`: at the cursor or, in images of newer versions,
  /// after unknown blocks.
  [[nodiscard]] bool is_placed(std::int64_t to) const noexcept {
    return to == cursor_ || (is_newer() && to >= cursor_ && to % granule == 0);
  }
  /// Skips unknown blocks.
  [[gnu::cold]] bool skips_to(std::int64_t to) noexcept {
    if (!is_placed(to) || to > size_) return false;
    cursor_ = static_cast<std::uint32_t>(to);
    return true;
  }
  /// Checks a struct of another version: the members known on both sides. Additional members of a newer
  /// version are ignored.
  template <class T>
  [[nodiscard]] bool known_members(const T& value, std::uint32_t at) {
    const auto* const known = versions_->of<T>();
    if (known == nullptr) return not_in_table(at);
    std::uint32_t end = at;
    std::uint32_t left = known->members;
    const bool good = for_each_member<T>([this, at, &value, &end, &left](const auto& m) {
      using M = decltype(type_of(m));
      if (left == 0) return true;
      --left;
      const auto begin_at = at + static_cast<std::uint32_t>(m.offset);
      if (!zero(end, begin_at)) return false;
      end = begin_at + std::uint32_t{sizeof(M)};
      return this->value(m.of(value), begin_at) || enter_member(m.name);
    });
    return good && (known->members > member_count<T> || zero(end, at + known->size));
  }

  const std::byte* image_;
  std::uint32_t size_;
  std::uint32_t cursor_;
  std::uint64_t* bits_;
  const image_versions* versions_;
  walk_visits later_;
  /// The block of the shared value that is being checked; 0 for none.
  std::uint32_t within_ = 0;
  /// The links from shared values to shared values, as pairs of blocks.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
  std::unordered_map<std::uint32_t, met_value> shared_;
  struct weak_link {
    std::uint32_t at;
    std::uint32_t to;
    const char* type;
  };
  std::vector<weak_link> weak_;
  /// In a walk, the shared values that were met before or in it.
  std::unordered_map<std::uint32_t, met_value>* known_ = nullptr;
  /// In a search, the offset of the byte, and whether a block has it.
  std::uint32_t sought_ = 0;
  bool found_ = false;
  region_invalid error_{};
};

/// Checks the header of an image of a T.
template <class T>
bool check_header(const std::byte* image, std::uint64_t count, std::uint64_t schema, std::uint64_t layout,
                  region_invalid& error) {
  const auto fail = [&error](region_problem problem, std::uint64_t offset, std::uint64_t found,
                             std::uint64_t limit) {
    error.problem = problem;
    error.offset = offset;
    error.found = found;
    error.limit = limit;
    return false;
  };
  if (reinterpret_cast<std::uintptr_t>(image) % granule != 0)
    return fail(region_problem::misaligned, 0, 0, granule);
  // The root of another version may be smaller.
  const std::uint64_t min_bytes = root_offset + (appendable<T> ? 0 : in_granules(sizeof(T)));
  if (count < min_bytes) return fail(region_problem::too_small, 0, count, min_bytes);
  header h;
  std::memcpy(&h, image, sizeof(h));
  if (h.magic != magic) return fail(region_problem::not_a_region, 0, h.magic, magic);
  if (h.version != version) return fail(region_problem::wrong_version, 4, h.version, version);
  if (h.form > region_form::live)
    return fail(region_problem::wrong_form, 6, static_cast<std::uint8_t>(h.form), 1);
  if (h.zero != 0) return fail(region_problem::not_zero, 7, 7, 0);
  if (h.schema_hash != schema || h.layout_hash != layout)
    error.name = situ_region_name(static_cast<const T*>(nullptr));
  if (h.schema_hash != schema) return fail(region_problem::wrong_schema, 8, h.schema_hash, schema);
  if (h.layout_hash != layout) return fail(region_problem::wrong_layout, 16, h.layout_hash, layout);
  if (h.size < min_bytes || h.size > count || h.size % granule != 0 || h.size > max_size) {
    return fail(region_problem::wrong_size, 24, h.size, count);
  }
  if (h.root != root_offset) return fail(region_problem::outside, 28, h.root, root_offset);
  if (h.form == region_form::canonical) {
    constexpr std::uint32_t working = offsetof(header, capacity);
    const std::uint32_t unused =
        (has<T, appendable_structs> ? offsetof(header, versions) : sizeof(header)) - working;
    if (any_bits(image + working, unused) != 0) {
      std::uint32_t i = working;
      while (image[i] == std::byte{0}) ++i;
      return fail(region_problem::not_zero, i, i, 0);
    }
  }
  return true;
}

/// Checks the image after its valid header. `bits` is a zeroed bitmap for the image; canonical images need
/// none. `versions` receives the versions of the image's appendable structs.
template <class T>
bool check_root(const std::byte* image, std::uint64_t* bits, image_versions& versions,
                region_invalid& error) {
  header h;
  std::memcpy(&h, image, sizeof(h));
  const T& root = *reinterpret_cast<const T*>(image + root_offset);
  [[maybe_unused]] version_reader reader(image, h.size, error);
  if constexpr (has<T, appendable_structs>) {
    if (!reader.read(versions_of<T>(), version_table<T>(), versions)) return false;
  }
  const image_versions* const others = versions.structs.empty() ? nullptr : &versions;
  if constexpr (appendable<T>) {
    if (others != nullptr && others->of<T>() == nullptr) return reader.lacks(root_offset);
  }
  const std::uint32_t root_size = others == nullptr ? std::uint32_t{sizeof(T)} : others->root_size<T>();
  const std::uint64_t first = root_offset + in_granules(root_size);
  if (first > h.size) {
    error.problem = region_problem::too_small;
    error.found = h.size;
    error.limit = first;
    return false;
  }
  const auto all = [&](auto& check) {
    if constexpr (has<T, appendable_structs>) {
      constexpr std::uint32_t table_at = offsetof(header, versions);
      const auto link = static_cast<std::int32_t>(reader.at() - table_at);
      std::uint32_t block = 0;
      if (!check.claim(table_at, link, reader.bytes(), reader.bytes(), block)) return false;
    }
    if (!check.value(root, root_offset) || !check.template finish<T>()) return false;
    if constexpr (has<T, shared_links>) {
      if (!check.shared_counts()) return false;
    }
    if (check.is_newer()) return true;
    return check.zero(root_offset + root_size, static_cast<std::uint32_t>(first)) &&
           (!check.canonical || check.cursor() == h.size ||
            check.fail(region_problem::left_over, check.cursor(), h.size, check.cursor()));
  };
  if (h.form == region_form::live) {
    checker<false> check(image, h.size, root_size, bits, others);
    if (all(check)) return true;
    error = check.take_error();
    return false;
  }
  checker<true> check(image, h.size, root_size, nullptr, others);
  if (all(check)) return true;
  error = check.take_error();
  return false;
}

}  // namespace situ::region_detail
