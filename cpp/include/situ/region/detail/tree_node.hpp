// A node of the trees of region_ordered_map and region_ordered_set: its layout, and the canonical shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "situ/region/detail/reflect.hpp"

namespace situ::region_detail {

/// The maximum number of levels of a tree.
inline constexpr std::uint32_t max_levels = 16;

/// `u16 len, cap`, then `cap` elements, and in inner nodes `cap + 1` links to children, each relative to its
/// own place. Child `i` holds the elements before element `i`, the last child those after the last element.
template <class Slot>
struct tree_node {
  std::uint16_t len;
  std::uint16_t cap;

  static constexpr std::uint32_t first = std::max<std::uint32_t>(4, alignof(Slot));
  static constexpr std::uint32_t max_len =
      std::clamp<std::uint32_t>(static_cast<std::uint32_t>((256 - first) / sizeof(Slot)), 8, 63);
  static constexpr std::uint32_t min_len = max_len / 2;

  static constexpr std::uint64_t links_at(std::uint64_t cap) noexcept {
    return (first + cap * sizeof(Slot) + 3) / 4 * 4;
  }
  /// The size of a block for a node.
  static constexpr std::uint64_t bytes(std::uint64_t cap, bool leaf) noexcept {
    return leaf ? first + cap * sizeof(Slot) : links_at(cap) + (cap + 1) * 4;
  }

  [[nodiscard]] Slot* slot(std::uint32_t index) noexcept {
    return reinterpret_cast<Slot*>(bytes_of(this) + first) + index;
  }
  [[nodiscard]] const Slot* slot(std::uint32_t index) const noexcept {
    return reinterpret_cast<const Slot*>(bytes_of(this) + first) + index;
  }
  [[nodiscard]] std::int32_t* link(std::uint32_t index) noexcept {
    return reinterpret_cast<std::int32_t*>(bytes_of(this) + links_at(cap)) + index;
  }
  [[nodiscard]] tree_node* child(std::uint32_t index) noexcept {
    return reinterpret_cast<tree_node*>(bytes_of(link(index)) + *link(index));
  }
  [[nodiscard]] const tree_node* child(std::uint32_t index) const noexcept {
    return const_cast<tree_node*>(this)->child(index);
  }
  void set_child(std::uint32_t index, tree_node* to) noexcept { *link(index) = link_from(link(index), to); }
  /// Takes `count` children from another node.
  void take_children(std::uint32_t to, tree_node* from, std::uint32_t at, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) set_child(to + i, from->child(at + i));
  }
  /// Makes room for an element at `index`, and for the child after it.
  void make_gap(std::uint32_t index, bool leaf) noexcept {
    relocate(slot(index + 1), slot(index), len - index);
    if (!leaf) {
      for (std::uint32_t i = len; i > index; --i) set_child(i + 1, child(i));
    }
    ++len;
  }
  /// Closes the gap of element `index`, which was moved or released, and of the child after it.
  void close_gap(std::uint32_t index, bool leaf) noexcept {
    relocate(slot(index), slot(index + 1), len - index - 1);
    if (!leaf) {
      for (std::uint32_t i = index + 1; i < len; ++i) set_child(i, child(i + 1));
    }
    cut(len - 1U, leaf);
  }
  /// Keeps the first `count` elements. The others were moved, and become zero.
  void cut(std::uint32_t count, bool leaf) noexcept {
    std::memset(static_cast<void*>(slot(count)), 0, (len - count) * sizeof(Slot));
    if (!leaf) std::memset(link(count + 1), 0, (len - count) * sizeof(std::int32_t));
    len = static_cast<std::uint16_t>(count);
  }
};

/// The levels of the canonical tree of `count` elements.
template <class Slot>
constexpr std::uint32_t tree_levels(std::uint64_t count) noexcept {
  std::uint32_t levels = 0;
  for (std::uint64_t room = 1; room <= count; room *= tree_node<Slot>::max_len + 1) ++levels;
  return levels;
}

/// The shape of the canonical node above `count` elements in `levels` levels.
struct tree_shape {
  /// The number of elements of the node itself.
  std::uint32_t len;
  /// `count + 1` is divided among the children as equally as possible. The first ones have one more.
  std::uint64_t part;
  std::uint64_t larger;
  /// The number of elements in a child.
  [[nodiscard]] std::uint64_t of_child(std::uint32_t index) const noexcept {
    return part + (index < larger ? 1 : 0) - 1;
  }
};
template <class Slot>
constexpr tree_shape shape_of(std::uint64_t count, std::uint32_t levels) noexcept {
  if (levels == 1) return {static_cast<std::uint32_t>(count), 0, 0};
  std::uint64_t room = 1;
  for (std::uint32_t i = 1; i < levels; ++i) room *= tree_node<Slot>::max_len + 1;
  const std::uint64_t children = (count + room) / room;
  return {static_cast<std::uint32_t>(children - 1), (count + 1) / children, (count + 1) % children};
}

}  // namespace situ::region_detail
