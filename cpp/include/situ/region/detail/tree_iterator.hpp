// Iterates over the trees of ordered maps and sets.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "situ/region/detail/key.hpp"

namespace situ::region_detail {

/// Iterates over the slots of a tree in the order of their keys, in both directions. `Reference` is a
/// reference to a slot, or a pair of references, which the iterator keeps.
template <class Tree, class Reference>
class tree_iterator : public slot_reference<Reference> {
  using slot_type = typename Tree::slot_type;

 public:
  using iterator_concept = std::bidirectional_iterator_tag;
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = std::remove_cvref_t<Reference>;
  using difference_type = std::ptrdiff_t;
  using pointer =
      std::conditional_t<std::is_reference_v<Reference>, const value_type*, entry_pointer<Reference>>;
  using reference = typename slot_reference<Reference>::reference;

  tree_iterator() noexcept = default;
  tree_iterator(const Tree& tree, typename Tree::position at) noexcept
      : tree_(&tree), at_(at), mark_(&tree) {}
  /// A read-only iterator, from a mutable one.
  template <class Other>
  requires(!std::is_same_v<Other, Reference> && std::is_convertible_v<Other, Reference>)
      tree_iterator(const tree_iterator<Tree, Other>& other)
  noexcept : tree_(other.tree_), at_(other.at_), mark_(other.mark_) {}

  [[nodiscard]] reference operator*() const& noexcept { return this->to(*address()); }
  [[nodiscard]] Reference operator*() const&& noexcept { return this->make(*address()); }
  [[nodiscard]] auto operator->() const noexcept { return this->pointer_to(*address()); }
  tree_iterator& operator++() noexcept {
    check();
    at_ = tree_->next(at_);
    return *this;
  }
  tree_iterator operator++(int) noexcept {
    tree_iterator before = *this;
    ++*this;
    return before;
  }
  tree_iterator& operator--() noexcept {
    check();
    at_ = tree_->before(at_);
    return *this;
  }
  tree_iterator operator--(int) noexcept {
    tree_iterator behind = *this;
    --*this;
    return behind;
  }
  friend bool operator==(const tree_iterator& a, const tree_iterator& b) noexcept { return a.at_ == b.at_; }
  /// The address of the slot.
  [[nodiscard]] slot_type* address() const noexcept {
    check();
    return at_.slot();
  }
  [[nodiscard]] typename Tree::position place() const noexcept {
    check();
    return at_;
  }

 private:
  template <class T, class R>
  friend class tree_iterator;

  void check() const noexcept { mark_.template check<Tree>(); }

  const Tree* tree_ = nullptr;
  typename Tree::position at_{};
  [[no_unique_address]] iterator_mark<> mark_;
};

}  // namespace situ::region_detail
