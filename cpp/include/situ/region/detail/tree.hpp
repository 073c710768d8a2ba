// The B-tree of region_ordered_map and region_ordered_set: finding, inserting, erasing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "situ/region/detail/key.hpp"
#include "situ/region/detail/later.hpp"
#include "situ/region/detail/staged.hpp"
#include "situ/region/detail/tree_node.hpp"

namespace situ::region_detail {

/// A tree of slots in the order of their keys. Operations allocate all memory that they need before they
/// change anything.
template <class Slot, class K, class KeyOf>
class tree {
  using traits = key_traits<K>;

 public:
  using view = typename traits::view;
  using node = tree_node<Slot>;
  using slot_type = Slot;
  using key_of = KeyOf;

  /// A position in the tree. Level 0 is the leaves. `at` is null for no position.
  struct position {
    node* at = nullptr;
    std::uint16_t index = 0;
    std::uint16_t level = 0;
    [[nodiscard]] Slot* slot() const noexcept { return at->slot(index); }
    friend bool operator==(const position&, const position&) noexcept = default;
  };

  tree() noexcept = default;
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;

  [[nodiscard]] std::uint32_t size() const noexcept { return len_; }
  [[nodiscard]] std::uint32_t levels() const noexcept { return levels_; }
  [[nodiscard]] const node* root() const noexcept { return const_cast<tree*>(this)->root(); }

  [[nodiscard]] position find(view key) const noexcept {
    path way;
    return locate(key, way) ? way.last() : position{};
  }
  /// Returns the first slot whose key is not less (or, with `Behind`, is greater) than `key`.
  template <bool Behind>
  [[nodiscard]] position bound(view key) const noexcept {
    position found;
    node* at = mutable_root();
    for (std::uint32_t level = levels_; level-- > 0;) {
      const std::uint32_t index = lower<Behind>(at, key);
      if (index < at->len) found = {at, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(level)};
      if (level != 0) at = at->child(index);
    }
    return found;
  }
  [[nodiscard]] position front() const noexcept {
    if (levels_ == 0) return {};
    return leftmost(mutable_root(), levels_ - 1);
  }
  [[nodiscard]] position back() const noexcept {
    if (levels_ == 0) return {};
    return rightmost(mutable_root(), levels_ - 1);
  }
  [[nodiscard]] position next(position here) const noexcept {
    if (here.level != 0) return leftmost(here.at->child(here.index + 1U), here.level - 1U);
    if (here.index + 1 < here.at->len) return {here.at, static_cast<std::uint16_t>(here.index + 1), 0};
    return bound<true>(traits::of(KeyOf::of(*here.slot())));
  }
  /// Returns the previous position, or the last one for the end.
  [[nodiscard]] position before(position here) const noexcept {
    if (here.at == nullptr) return back();
    if (here.level != 0) return rightmost(here.at->child(here.index), here.level - 1U);
    if (here.index != 0) return {here.at, static_cast<std::uint16_t>(here.index - 1), 0};
    position found;
    const view key = traits::of(KeyOf::of(*here.slot()));
    node* at = mutable_root();
    for (std::uint32_t level = levels_; level-- > 0;) {
      const std::uint32_t index = lower<false>(at, key);
      if (index != 0) found = {at, static_cast<std::uint16_t>(index - 1), static_cast<std::uint16_t>(level)};
      if (level != 0) at = at->child(index);
    }
    return found;
  }

  /// Returns the slot of a key. If the key is new, `make` constructs the slot's content and returns whether
  /// there was room. If there was none, the result is no position, and nothing changes.
  template <class Make>
  [[nodiscard]] position insert(view key, bool& is_new, const Make& make) {
    is_new = false;
    path way;
    if (locate(key, way)) return way.last();
    staged_value<Slot> fresh(region());
    spare_nodes spares(region());
    if (!fresh.make(make) || !spares.take_for_insert(way)) return {};
    is_new = true;
    note_gone(this);
    ++len_;
    if (way.depth == 0) {
      node* const only = spares.next();
      set_root(only);
      levels_ = 1;
      only->len = 1;
      fresh.move_to(only->slot(0));
      return {only, 0, 0};
    }
    return insert_at(way, fresh, spares);
  }

  /// Erases a key if it exists. Returns the number of erased keys.
  std::size_t erase(view key) noexcept {
    path way;
    if (!locate(key, way)) return 0;
    note_gone(this);
    Slot* const erased = way.last().slot();
    // An element of an inner node is replaced by the element before it, which is the last one of some leaf.
    const bool in_leaf = way.depth == levels_;
    while (way.depth != levels_) {
      node* const at = way.steps[way.depth - 1].at->child(way.steps[way.depth - 1].index);
      way.enter(at, way.depth + 1 == levels_ ? at->len - 1U : at->len, levels_ - way.depth - 1U);
    }
    release(*erased);
    const position leaf = way.last();
    if (!in_leaf) relocate(erased, leaf.slot(), 1);
    leaf.at->close_gap(leaf.index, true);
    --len_;
    for (std::uint32_t i = way.depth - 1; i > 0 && way.steps[i].at->len < node::min_len; --i) {
      if (!balance(way.steps[i - 1].at, way.steps[i - 1].index, i + 1 == levels_)) break;
    }
    lower_root();
    return 1;
  }

  /// Erases the slot at a position. Returns the position of the next slot.
  position erase_at(position at) noexcept {
    const position behind = next(at);
    if (behind.at == nullptr) {
      erase(traits::of(KeyOf::of(*at.slot())));
      return {};
    }
    const typename traits::kept key(KeyOf::of(*behind.slot()));
    erase(traits::of(KeyOf::of(*at.slot())));
    return find(key.view_of());
  }

  /// Gives unused memory back to the region.
  void shrink() noexcept {
    note_gone(this);
    if (levels_ != 0) shrink_node(root(), levels_ - 1);
  }

  static consteval bool has_links() { return true; }
  void situ_attach(header* h) noexcept { region_ = link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    note_gone(bytes_of(this) + distance);
    if (data_ != 0) data_ += distance;
    region_ += distance;
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    if (walk.trims()) shrink();
    walk.back_link(this, region_);
    if (levels_ != 0) walk.behind([&walk, this] { compact_node(walk, data_, levels_ - 1); });
  }
  void situ_release() noexcept {
    note_gone(this);
    if (levels_ == 0) return;
    const auto release_nodes = [h = region(), first = root(), level = levels_ - 1] {
      release_node(h, first, level);
    };
    data_ = 0;
    len_ = 0;
    levels_ = 0;
    release_behind(release_nodes);
  }
  [[nodiscard]] header* situ_region() noexcept { return region(); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const;
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const;

 private:
  /// The path from the root to a node. `index` is the child on the path, and in the last node the slot.
  struct path {
    position steps[max_levels];
    std::uint32_t depth = 0;
    void enter(node* at, std::uint32_t index, std::uint32_t level) noexcept {
      steps[depth++] = {at, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(level)};
    }
    [[nodiscard]] position last() const noexcept { return steps[depth - 1]; }
  };

  /// Blocks that are allocated before any change. Unused ones are freed.
  class spare_nodes {
   public:
    explicit spare_nodes(header* h) noexcept : header_(h) {}
    spare_nodes(const spare_nodes&) = delete;
    spare_nodes& operator=(const spare_nodes&) = delete;
    ~spare_nodes() {
      while (next_ != count_) {
        deallocate(header_, blocks_[next_].at, node::bytes(blocks_[next_].cap, blocks_[next_].leaf));
        ++next_;
      }
    }
    /// Allocates a larger node, or a second node for each full one and a root above the last.
    [[nodiscard]] bool take_for_insert(const path& way) noexcept {
      if (way.depth == 0) return take(capacity_behind(0), true);
      for (std::uint32_t i = way.depth; i-- > 0;) {
        const node* const at = way.steps[i].at;
        const bool leaf = way.steps[i].level == 0;
        if (at->len < at->cap) return true;
        if (at->cap < node::max_len) return take(capacity_behind(at->cap), leaf);
        if (!take(node::max_len, leaf)) return false;
      }
      return way.depth < max_levels && take(capacity_behind(0), false);
    }
    [[nodiscard]] node* next() noexcept {
      const block& taken = blocks_[next_++];
      taken.at->cap = static_cast<std::uint16_t>(taken.cap);
      return taken.at;
    }

   private:
    struct block {
      node* at;
      std::uint32_t cap;
      bool leaf;
    };
    [[nodiscard]] bool take(std::uint32_t cap, bool leaf) noexcept {
      auto* const at = static_cast<node*>(allocate(header_, node::bytes(cap, leaf)));
      if (at == nullptr) return false;
      blocks_[count_++] = {at, cap, leaf};
      return true;
    }

    header* header_;
    block blocks_[max_levels + 1];
    std::uint32_t count_ = 0;
    std::uint32_t next_ = 0;
  };

  /// Full nodes below the maximum size become about twice as large.
  static constexpr std::uint32_t capacity_behind(std::uint32_t cap) noexcept {
    return std::min(std::max(cap * 2, std::min(node::min_len, std::uint32_t{4})), node::max_len);
  }
  /// Whether the left or right neighbour of a child has more than `than` elements.
  static bool has_more(const node* above, std::uint32_t child, int side, std::uint32_t than) noexcept {
    if (side < 0 ? child == 0 : child == above->len) return false;
    return above->child(side < 0 ? child - 1 : child + 1)->len > than;
  }

  [[nodiscard]] header* region() noexcept { return header_at(this, region_); }
  [[nodiscard]] node* root() noexcept { return reinterpret_cast<node*>(bytes_of(this) + data_); }
  [[nodiscard]] node* mutable_root() const noexcept { return const_cast<tree*>(this)->root(); }
  void set_root(node* to) noexcept { data_ = link_from(this, to); }

  /// Returns the first slot of a node whose key is not less (or, with `Behind`, is greater) than `key`.
  template <bool Behind>
  static std::uint32_t lower(const node* at, view key) noexcept {
    std::uint32_t from = 0;
    for (std::uint32_t count = at->len; count != 0;) {
      const std::uint32_t half = count / 2;
      const view there = traits::of(KeyOf::of(*at->slot(from + half)));
      const bool go_on = Behind ? !(key < there) : there < key;
      from = go_on ? from + half + 1 : from;
      count = go_on ? count - half - 1 : half;
    }
    return from;
  }
  /// Finds the path to a key, or to the leaf in which it belongs.
  [[nodiscard]] bool locate(view key, path& way) const noexcept {
    node* at = mutable_root();
    for (std::uint32_t level = levels_; level-- > 0;) {
      const std::uint32_t index = lower<false>(at, key);
      way.enter(at, index, level);
      if (index < at->len && traits::of(KeyOf::of(*at->slot(index))) == key) return true;
      if (level != 0) at = at->child(index);
    }
    return false;
  }
  static position leftmost(node* at, std::uint32_t level) noexcept {
    for (; level != 0; --level) at = at->child(0);
    return {at, 0, 0};
  }
  static position rightmost(node* at, std::uint32_t level) noexcept {
    for (; level != 0; --level) at = at->child(at->len);
    return {at, static_cast<std::uint16_t>(at->len - 1), 0};
  }

  /// Inserts a new slot into the leaf at the end of the path. Full nodes are split, and their middle slot
  /// moves up.
  position insert_at(const path& way, staged_value<Slot>& fresh, spare_nodes& spares) noexcept {
    position made;
    node* behind = nullptr;  // the child after the slot that moves up
    for (std::uint32_t i = way.depth; i-- > 0;) {
      node* at = way.steps[i].at;
      const std::uint32_t index = way.steps[i].index;
      const bool leaf = way.steps[i].level == 0;
      if (at->len == at->cap && at->cap < node::max_len) {
        at = grow(at, leaf, spares.next());
        if (i == 0) {
          set_root(at);
        } else {
          way.steps[i - 1].at->set_child(way.steps[i - 1].index, at);
        }
      }
      if (at->len < at->cap) {
        at->make_gap(index, leaf);
        if (!leaf) at->set_child(index + 1, behind);
        fresh.move_to(at->slot(index));
        if (made.at == nullptr) made = {at, way.steps[i].index, way.steps[i].level};
        return made;
      }
      const position in_half = split(at, way.steps[i], spares.next(), behind, fresh);
      if (made.at == nullptr) made = in_half;
    }
    node* const above = spares.next();
    above->set_child(0, root());
    above->len = 1;
    above->set_child(1, behind);
    fresh.move_to(above->slot(0));
    set_root(above);
    if (made.at == nullptr) made = {above, 0, static_cast<std::uint16_t>(levels_)};
    ++levels_;
    return made;
  }
  /// Moves a node to a larger block.
  [[nodiscard]] node* grow(node* at, bool leaf, node* to) noexcept {
    to->len = at->len;
    relocate(to->slot(0), at->slot(0), at->len);
    if (!leaf) to->take_children(0, at, 0, at->len + 1U);
    deallocate(region(), at, node::bytes(at->cap, leaf));
    return to;
  }
  /// Divides a full node and the new slot between the node and another one. The new slot belongs at `index`,
  /// with the child `behind` it. `fresh` becomes the middle slot, `behind` the other node. Returns the
  /// position of the new slot, or none if it is the middle slot itself.
  position split(node* at, position where, node* other, node*& behind, staged_value<Slot>& fresh) noexcept {
    constexpr std::uint32_t middle = (node::max_len + 1) / 2;
    const std::uint32_t index = where.index;
    const bool leaf = where.level == 0;
    position made;
    if (index > middle) {
      // The slot at `middle` moves up. The slots after it, with the new one among them, move to the other
      // node.
      const std::uint32_t count = node::max_len - middle - 1;
      relocate(other->slot(0), at->slot(middle + 1), count);
      if (!leaf) other->take_children(0, at, middle + 1, count + 1);
      other->len = static_cast<std::uint16_t>(count);
      const std::uint32_t there = index - middle - 1;
      other->make_gap(there, leaf);
      if (!leaf) other->set_child(there + 1, behind);
      relocate(other->slot(there), &*fresh, 1);
      relocate(&*fresh, at->slot(middle), 1);
      at->cut(middle, leaf);
      made = {other, static_cast<std::uint16_t>(there), where.level};
    } else {
      const std::uint32_t count = node::max_len - middle;
      relocate(other->slot(0), at->slot(middle), count);
      other->len = static_cast<std::uint16_t>(count);
      if (!leaf) other->take_children(1, at, middle + 1, count);
      if (index == middle) {
        if (!leaf) other->set_child(0, behind);
        at->cut(middle, leaf);
      } else {
        if (!leaf) other->set_child(0, at->child(middle));
        at->cut(middle, leaf);
        // The last remaining slot moves up in exchange for the new one, which then moves to its place.
        fresh.exchange(at->slot(middle - 1));
        rotate_last_to(at, index);
        if (!leaf) {
          for (std::uint32_t i = middle - 1; i > index; --i) at->set_child(i + 1, at->child(i));
          at->set_child(index + 1, behind);
        }
        made = {at, where.index, where.level};
      }
    }
    behind = other;
    return made;
  }
  static void rotate_last_to(node* at, std::uint32_t index) noexcept {
    const std::uint32_t last = at->len - 1U;
    alignas(Slot) std::byte kept[sizeof(Slot)];
    std::memcpy(kept, static_cast<const void*>(at->slot(last)), sizeof(Slot));
    relocate(at->slot(index + 1), at->slot(index), last - index);
    std::memcpy(static_cast<void*>(at->slot(index)), kept, sizeof(Slot));
    moved(*at->slot(index), static_cast<std::int32_t>((last - index) * sizeof(Slot)));
  }

  /// Moves an element of a neighbour to a child that has become too small, or merges the two. Returns whether
  /// they merged. Without memory for that, the child stays small. It never becomes empty: it takes its
  /// neighbour's elements, or has room for its only element.
  [[nodiscard]] bool balance(node* above, std::uint32_t child, bool leaf) noexcept {
    node* const at = above->child(child);
    for (const std::uint32_t than : {node::min_len, std::uint32_t{1}}) {
      if (has_more(above, child, -1, than)) {
        take_from_left(above, child, leaf);
        return false;
      }
      if (has_more(above, child, 1, than)) {
        take_from_right(above, child, leaf);
        return false;
      }
      if (merge(above, child == 0 ? 0 : child - 1, leaf)) return true;
      if (at->len != 0) return false;
    }
    return false;
  }
  static void take_from_left(node* above, std::uint32_t child, bool leaf) noexcept {
    node* const at = above->child(child);
    node* const left = above->child(child - 1);
    at->make_gap(0, leaf);
    relocate(at->slot(0), above->slot(child - 1), 1);
    relocate(above->slot(child - 1), left->slot(left->len - 1U), 1);
    if (!leaf) {
      at->set_child(1, at->child(0));
      at->set_child(0, left->child(left->len));
    }
    left->cut(left->len - 1U, leaf);
  }
  static void take_from_right(node* above, std::uint32_t child, bool leaf) noexcept {
    node* const at = above->child(child);
    node* const right = above->child(child + 1);
    ++at->len;
    relocate(at->slot(at->len - 1U), above->slot(child), 1);
    relocate(above->slot(child), right->slot(0), 1);
    if (!leaf) {
      at->set_child(at->len, right->child(0));
      right->set_child(0, right->child(1));
    }
    right->close_gap(0, leaf);
  }
  /// Merges two neighbours and the element between them. Returns false and changes nothing if this needs
  /// memory and there is none.
  [[nodiscard]] bool merge(node* above, std::uint32_t child, bool leaf) noexcept {
    node* left = above->child(child);
    node* const right = above->child(child + 1);
    const std::uint32_t count = left->len;
    const std::uint32_t together = count + right->len + 1;
    if (left->cap < together) {
      auto* const larger = static_cast<node*>(allocate(region(), node::bytes(together, leaf)));
      if (larger == nullptr) return false;
      larger->cap = static_cast<std::uint16_t>(together);
      left = grow(left, leaf, larger);
      above->set_child(child, left);
    }
    relocate(left->slot(count), above->slot(child), 1);
    relocate(left->slot(count + 1), right->slot(0), right->len);
    left->len = static_cast<std::uint16_t>(together);
    if (!leaf) left->take_children(count + 1, right, 0, right->len + 1U);
    deallocate(region(), right, node::bytes(right->cap, leaf));
    above->close_gap(child, false);
    return true;
  }
  /// Removes a root without elements.
  void lower_root() noexcept {
    node* const old = root();
    if (old->len != 0) return;
    const bool leaf = levels_ == 1;
    if (leaf) {
      data_ = 0;
    } else {
      set_root(old->child(0));
    }
    --levels_;
    deallocate(region(), old, node::bytes(old->cap, leaf));
  }

  void shrink_node(node* at, std::uint32_t level) noexcept {
    if (level != 0) {
      for (std::uint32_t i = 0; i <= at->len; ++i) shrink_node(at->child(i), level - 1);
    }
    const std::uint32_t cap = at->cap;
    const std::uint32_t kept = std::max<std::uint32_t>(at->len, at == root() ? 1 : node::min_len);
    if (kept >= cap) return;
    if (level != 0) {
      // Each link moves towards the front, to a place whose link has already moved.
      std::int32_t* const to = reinterpret_cast<std::int32_t*>(bytes_of(at) + node::links_at(kept));
      std::int32_t* const from = at->link(0);
      const auto distance = static_cast<std::int32_t>(bytes_of(from) - bytes_of(to));
      for (std::uint32_t i = 0; i <= at->len; ++i) to[i] = from[i] + distance;
      std::int32_t* const end = to + at->len + 1;
      std::memset(end, 0, static_cast<std::size_t>(bytes_of(from + cap + 1) - bytes_of(end)));
    }
    at->cap = static_cast<std::uint16_t>(kept);
    shorten(region(), at, node::bytes(cap, level == 0), node::bytes(kept, level == 0));
  }
  template <class Walk>
  static void compact_node(Walk& walk, std::int32_t& link, std::uint32_t level) noexcept {
    auto* const at = reinterpret_cast<node*>(walk.link(link));
    walk.elements(at->slot(0), at->len);
    if (level == 0) return;
    for (std::uint32_t i = 0; i <= at->len; ++i) compact_node(walk, *at->link(i), level - 1);
  }
  static void release_node(header* h, node* at, std::uint32_t level) noexcept {
    for (std::uint32_t i = 0; i < at->len; ++i) release(*at->slot(i));
    if (level != 0) {
      for (std::uint32_t i = 0; i <= at->len; ++i) release_node(h, at->child(i), level - 1);
    }
    deallocate(h, at, node::bytes(at->cap, level == 0));
  }

  std::int32_t data_ = 0;
  std::uint32_t len_ = 0;
  std::uint32_t levels_ = 0;
  std::int32_t region_ = 0;
};

}  // namespace situ::region_detail
