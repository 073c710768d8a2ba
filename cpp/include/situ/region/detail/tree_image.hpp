// Trees of ordered maps and sets in images: writes the canonical tree, checks canonical and live trees.
#pragma once

#include <cstdint>

#include "situ/region/detail/tree.hpp"
#include "situ/region/error.hpp"

namespace situ::region_detail {

/// Writes the canonical tree of the elements of any tree.
template <class Tree, class Writer>
class tree_writer {
  using node = typename Tree::node;
  using slot = typename Tree::slot_type;

 public:
  tree_writer(const Tree& from, Writer& writer) noexcept
      : tree_(from), writer_(writer), next_(from.front()) {}

  /// Writes a node of the next `count` elements, and the link to it at `link_at`.
  void put(std::uint32_t link_at, std::uint64_t count, std::uint32_t levels) {
    const tree_shape shape = shape_of<slot>(count, levels);
    const bool leaf = levels == 1;
    const std::uint32_t block = writer_.place(link_at, node::bytes(shape.len, leaf));
    const std::uint32_t slots = block + node::first;
    const auto slots_end = slots + shape.len * std::uint32_t{sizeof(slot)};
    const auto links = block + static_cast<std::uint32_t>(node::links_at(shape.len));
    writer_.put_u32(block, shape.len | shape.len << 16);
    writer_.put_zeros(block + 4, node::first - 4);
    if (!leaf) writer_.put_zeros(slots_end, links - slots_end);
    for (std::uint32_t i = 0; i <= shape.len; ++i) {
      if (!leaf) put(links + 4 * i, shape.of_child(i), levels - 1);
      if (i == shape.len) return;
      writer_.put(slots + i * std::uint32_t{sizeof(slot)}, *next_.slot());
      next_ = tree_.next(next_);
    }
  }

 private:
  const Tree& tree_;
  Writer& writer_;
  typename Tree::position next_;
};

/// Checks the nodes of a tree, in the order of their keys.
template <class Tree, class Check>
class tree_checker {
  using node = typename Tree::node;
  using slot = typename Tree::slot_type;
  using key_of = typename Tree::key_of;

 public:
  tree_checker(Check& check, std::uint32_t at) noexcept : check_(check), at_(at) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Checks the node to which the link at `link_at` leads. In canonical trees, `count` elements lie in and
  /// below it.
  [[nodiscard]] bool good(std::uint32_t link_at, std::int32_t link, std::uint64_t count, std::uint32_t levels,
                          bool is_root) {
    std::uint32_t block = 0;
    if (!check_.placed(link_at, link) || !check_.peek(link_at, link, block)) return false;
    const auto* const at = reinterpret_cast<const node*>(check_.at(block));
    const bool leaf = levels == 1;
    tree_shape shape{};
    std::uint64_t min_cap = is_root ? 1 : node::min_len;
    std::uint64_t max_cap = node::max_len;
    if constexpr (Check::canonical) {
      shape = shape_of<slot>(count, levels);
      min_cap = max_cap = shape.len;
    }
    const bool fits = Check::canonical
                          ? at->len == max_cap && at->cap == max_cap
                          : at->len != 0 && at->len <= at->cap && at->cap >= min_cap && at->cap <= max_cap;
    if (!fits) {
      return check_.fail(region_problem::wrong_node, block, at->len | std::uint64_t{at->cap} << 32,
                         min_cap | max_cap << 32);
    }
    const std::uint64_t bytes = node::bytes(at->cap, leaf);
    const std::uint32_t slots = block + node::first;
    const auto slots_end = slots + at->len * std::uint32_t{sizeof(slot)};
    const auto links = block + static_cast<std::uint32_t>(node::links_at(at->cap));
    return check_.claim(link_at, link, bytes, bytes, block) && check_.zero(block + 4, slots) &&
           (leaf || check_.zero(slots_end, links)) && [&] {
             for (std::uint32_t i = 0; i <= at->len; ++i) {
               if (!leaf && !good(links + 4 * i, *const_cast<node*>(at)->link(i),
                                  Check::canonical ? shape.of_child(i) : 0, levels - 1, false)) {
                 return false;
               }
               if (i < at->len && !good_slot(*at->slot(i), slots + i * std::uint32_t{sizeof(slot)}))
                 return false;
             }
             return true;
           }();
  }

 private:
  [[nodiscard]] bool good_slot(const slot& here, std::uint32_t slot_at) {
    using traits = key_traits<std::remove_cvref_t<decltype(key_of::of(here))>>;
    if (!check_.value(here, slot_at)) return check_.enter_element(count_);
    if (before_ != nullptr && !(traits::of(key_of::of(*before_)) < traits::of(key_of::of(here)))) {
      return check_.fail(region_problem::not_sorted, at_, count_);
    }
    before_ = &here;
    ++count_;
    return true;
  }

  Check& check_;
  std::uint32_t at_;
  std::uint32_t count_ = 0;
  const slot* before_ = nullptr;
};

template <class Slot, class K, class KeyOf>
template <class Writer>
void tree<Slot, K, KeyOf>::situ_write(Writer& writer, std::uint32_t at) const {
  const std::uint32_t levels = tree_levels<Slot>(len_);
  writer.put_container(at, len_, levels);
  if (levels == 0) return;
  writer.behind(
      [this, &writer, at, levels] { tree_writer<tree, Writer>(*this, writer).put(at, len_, levels); });
}

template <class Slot, class K, class KeyOf>
template <class Check>
bool tree<Slot, K, KeyOf>::situ_check(Check& check, std::uint32_t at) const {
  const std::uint32_t needed = tree_levels<Slot>(len_);
  if (!check.back_link(at, region_)) return false;
  if (levels_ > max_levels || (levels_ == 0) != (len_ == 0) || (Check::canonical && levels_ != needed)) {
    return check.fail(region_problem::wrong_levels, at, levels_, needed);
  }
  if (levels_ == 0) {
    return data_ == 0 ||
           check.outside(at, std::uint64_t{at} + static_cast<std::uint64_t>(std::int64_t{data_}));
  }
  return check.deeper([this, &check, at] {
    tree_checker<tree, Check> nodes(check, at);
    if (!nodes.good(at, data_, len_, levels_, true)) return false;
    return nodes.count() == len_ || check.fail(region_problem::wrong_tree, at, len_, nodes.count());
  });
}

}  // namespace situ::region_detail
