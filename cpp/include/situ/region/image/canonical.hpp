// The canonical image of a value: a compacting copy, depth first, one cursor, all padding zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "situ/region/detail/later.hpp"
#include "situ/region/detail/needs.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/image/versions.hpp"

namespace situ {

template <class T>
class region_shared;

namespace region_detail {

/// Returns a new value in a region without memory. It needs none.
template <class T>
class fresh_value {
 public:
  fresh_value() noexcept { value_ = begin<T>(reinterpret_cast<header*>(bytes_), bytes_ + root_offset); }
  fresh_value(const fresh_value&) = delete;
  fresh_value& operator=(const fresh_value&) = delete;
  ~fresh_value() = default;
  [[nodiscard]] const T& operator*() const noexcept { return *value_; }

 private:
  alignas(granule) std::byte bytes_[root_offset + sizeof(T)] = {};
  T* value_;
};

/// Writes to memory that is large enough. Every byte of the image is written, regardless of the previous
/// content of the memory. Without `Writes`, only counts the size.
template <bool Writes>
class canonical_writer {
 public:
  static constexpr bool writes = Writes;

  /// `versions` describes a source with appendable structs in other versions than this program's. Otherwise
  /// it is null. If the copy becomes a part of the region of its source, `home` is that region: shared links
  /// then lead to the values that are there.
  canonical_writer(std::byte* image, std::uint64_t cursor, const image_versions* versions,
                   header* home = nullptr) noexcept
      : image_(image), cursor_(cursor), versions_(versions), home_(home) {}

  /// Writes a value with everything that it holds.
  template <class T>
  void put_whole(std::uint32_t at, const T& value) {
    put(at, value);
    later_.finish_all();
    place_weak_links();
  }
  /// Writes the target of a link with `visit()`: now, or after everything else.
  template <class Visit>
  void behind(const Visit& visit) {
    later_.run([visit] {
      visit();
      return true;
    });
  }

  /// The current end of the image.
  [[nodiscard]] std::uint64_t end() const noexcept { return cursor_; }
  /// Whether there was a link to a value of its own region that may hold such links: `region_shared` refuses
  /// to copy it.
  [[nodiscard]] bool is_refused() const noexcept { return is_refused_; }

  void put_bytes(std::uint32_t at, const void* from, std::size_t count) noexcept {
    if (Writes && count != 0) std::memcpy(image_ + at, from, count);
  }
  void put_zeros(std::uint32_t at, std::size_t count) noexcept {
    if (Writes && count != 0) std::memset(image_ + at, 0, count);
  }
  void put_byte(std::uint32_t at, std::uint8_t value) noexcept { put_bytes(at, &value, 1); }
  void put_u32(std::uint32_t at, std::uint32_t value) noexcept { put_bytes(at, &value, sizeof(value)); }
  /// Writes the link at `link_at` from the container at `at` back to the header.
  void put_back_link(std::uint32_t at, std::uint32_t link_at) noexcept { put_u32(link_at, 0U - at); }
  /// Writes a container of 16 bytes, without its link.
  void put_container(std::uint32_t at, std::uint32_t len, std::uint32_t cap) noexcept {
    put_u32(at, 0);
    put_u32(at + 4, len);
    put_u32(at + 8, cap);
    put_back_link(at, at + 12);
  }
  /// Returns the place of the next block, of `bytes` that the caller writes.
  [[nodiscard]] std::uint32_t place_first(std::uint64_t bytes) noexcept {
    const auto block = static_cast<std::uint32_t>(cursor_);
    cursor_ += in_granules(bytes);
    put_zeros(static_cast<std::uint32_t>(cursor_) - granule, granule);
    return block;
  }
  /// Returns the place of the next block, of `bytes` that the caller writes. Sets the link at `at` to it.
  [[nodiscard]] std::uint32_t place(std::uint32_t at, std::uint64_t bytes) noexcept {
    const std::uint32_t block = place_first(bytes);
    put_u32(at, block - at);
    return block;
  }

  /// Writes the value in a shared block. The first link to the block places it at the cursor.
  template <class T>
  void put_shared(std::uint32_t at, const void* block, std::uint32_t offset, const T& value) {
    if (home_ != nullptr) return put_shared_at_home<T>(at, block);
    const auto [known, is_new] =
        shared_.try_emplace(block, placed_block{static_cast<std::uint32_t>(cursor_), 1, 0});
    const std::uint32_t to = known->second.to;
    if (!is_new) {
      put_u32(at, to - at);
      put_u32(to, ++known->second.links);
      return;
    }
    static_cast<void>(place(at, offset + sizeof(T)));
    put_u32(to, 1);
    put_zeros(to + 4, offset - 4);
    behind([this, place = to + offset, &value] { put(place, value); });
  }
  /// Writes the weak link at `at` to the value in a block, when all blocks have their places. If that block
  /// gets none, the link leads to none.
  void put_weak(std::uint32_t at, const void* block) {
    if constexpr (Writes) weak_.push_back({at, block});
  }
  /// Writes a value at `at`, and the blocks that it holds at the cursor.
  template <class T>
  void put(std::uint32_t at, const T& value) {
    if constexpr (container<T>) {
      value.situ_write(*this, at);
    } else if constexpr (is_dense<T> && !appendable<T>) {
      put_bytes(at, &value, sizeof(T));
    } else if constexpr (array<T>) {
      put_elements(at, value.data(), value.size());
    } else {
      std::uint32_t end = at;
      [[maybe_unused]] std::uint32_t left = ~std::uint32_t{0};
      if constexpr (appendable<T>) {
        const auto* const known = versions_ == nullptr ? nullptr : versions_->of<T>();
        if (known != nullptr) left = known->members;
      }
      for_each_member<T>([&](const auto& m) __attribute__((always_inline)) {
        using M = decltype(type_of(m));
        const auto begin_at = at + static_cast<std::uint32_t>(m.offset);
        put_zeros(end, begin_at - end);
        end = begin_at + std::uint32_t{sizeof(M)};
        if constexpr (appendable<T>) {
          // Members that the source does not contain have their default values.
          if (left == 0) {
            const fresh_value<T> fresh;
            this->put(begin_at, m.of(*fresh));
            return true;
          }
          --left;
        }
        this->put(begin_at, m.of(value));
        return true;
      });
      put_zeros(end, at + std::uint32_t{sizeof(T)} - end);
    }
  }
  template <class T>
  void put_elements(std::uint32_t at, const T* elements, std::size_t count) {
    if constexpr (is_dense<T>) {
      put_bytes(at, elements, count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        put(at + static_cast<std::uint32_t>(i * sizeof(T)), elements[i]);
      }
    }
  }

 private:
  void place_weak_links() noexcept {
    for (const auto& [at, block] : weak_) {
      std::uint32_t to = 0;
      std::uint32_t weak = 0;
      if (home_ != nullptr) {
        to = static_cast<std::uint32_t>(bytes_of(block) - bytes_of(home_));
        std::memcpy(&weak, image_ + to + 4, sizeof(weak));
        ++weak;
      } else if (const auto known = shared_.find(block); known != shared_.end()) {
        to = known->second.to;
        weak = ++known->second.weak;
      }
      if (to == 0) continue;
      put_u32(at, to - at);
      put_u32(to + 4, weak);
    }
    weak_.clear();
  }
  template <class T>
  void put_shared_at_home(std::uint32_t at, const void* block) {
    is_refused_ = is_refused_ || has<T, only<region_shared<T>>>;
    if (!Writes || is_refused_) return;
    const auto to = static_cast<std::uint32_t>(bytes_of(block) - bytes_of(home_));
    ++*reinterpret_cast<std::uint32_t*>(image_ + to);
    put_u32(at, to - at);
  }

  std::byte* image_;
  std::uint64_t cursor_;
  const image_versions* versions_;
  header* home_;
  bool is_refused_ = false;
  struct placed_block {
    std::uint32_t to;
    std::uint32_t links;
    std::uint32_t weak;
  };
  struct weak_link {
    std::uint32_t at;
    const void* block;
  };
  std::unordered_map<const void*, placed_block> shared_;
  std::vector<weak_link> weak_;
  walk_visits later_;
};

/// The maximum memory in bytes for the canonical image of a root.
template <class T>
std::uint64_t canonical_bound(const header* h, [[maybe_unused]] const T& root,
                              [[maybe_unused]] const image_versions* versions = nullptr) {
  // Each block is trimmed, so only trees and new members can need more memory than they have.
  if constexpr (has<T, trees> || has<T, appendable_structs>) {
    if (versions == nullptr && !has<T, trees>) return h->size;
    const std::uint64_t first = in_granules(sizeof(T)) + in_granules(version_table_size<T>());
    canonical_writer<false> counter(nullptr, root_offset + first, versions);
    counter.put_whole(root_offset, root);
    return counter.end();
  } else {
    return h->size;
  }
}

/// Writes the canonical image of a root to memory of `canonical_bound` bytes. Returns its size.
template <class T>
std::uint32_t write_canonical(const header* h, const T& root, std::byte* image,
                              const image_versions* versions = nullptr) {
  header front{};
  front.magic = magic;
  front.version = version;
  front.form = region_form::canonical;
  front.schema_hash = h->schema_hash;
  front.layout_hash = h->layout_hash;
  front.root = root_offset;
  const std::uint32_t first = root_offset + static_cast<std::uint32_t>(in_granules(sizeof(T)));
  canonical_writer<true> writer(image, first, versions);
  writer.put_zeros(first - granule, granule);
  if constexpr (has<T, appendable_structs>) {
    const auto& table = version_table<T>();
    front.versions = writer.place_first(table.size());
    writer.put_bytes(front.versions, table.data(), table.size());
  }
  writer.put_whole(root_offset, root);
  front.size = static_cast<std::uint32_t>(writer.end());
  std::memcpy(image, &front, sizeof(front));
  return front.size;
}

}  // namespace region_detail
}  // namespace situ
