// The searches and comparisons of std::basic_string_view, for strings that have a view.
#pragma once

#include <cstddef>
#include <string_view>

namespace situ::detail {

/// Base of `Self`, a string of code units `Char` with a member `view()`. It has no state and adds no bytes.
template <class Self, class Char>
class text_search {
  using view_type = std::basic_string_view<Char>;

 public:
  /// No position; as a count, all that follows.
  static constexpr std::size_t npos = view_type::npos;

  template <class... Args>
  [[nodiscard]] int compare(const Args&... args) const requires requires(view_type v) {
    v.compare(args...);
  }
  { return view().compare(args...); }
  [[nodiscard]] bool starts_with(view_type text) const noexcept { return view().starts_with(text); }
  [[nodiscard]] bool starts_with(Char unit) const noexcept { return view().starts_with(unit); }
  [[nodiscard]] bool ends_with(view_type text) const noexcept { return view().ends_with(text); }
  [[nodiscard]] bool ends_with(Char unit) const noexcept { return view().ends_with(unit); }
  [[nodiscard]] bool contains(view_type text) const noexcept { return view().find(text) != npos; }
  [[nodiscard]] bool contains(Char unit) const noexcept { return view().find(unit) != npos; }

  [[nodiscard]] std::size_t find(view_type text, std::size_t from = 0) const noexcept {
    return view().find(text, from);
  }
  [[nodiscard]] std::size_t find(Char unit, std::size_t from = 0) const noexcept {
    return view().find(unit, from);
  }
  [[nodiscard]] std::size_t find(const Char* text, std::size_t from, std::size_t count) const {
    return view().find(text, from, count);
  }
  [[nodiscard]] std::size_t rfind(view_type text, std::size_t from = npos) const noexcept {
    return view().rfind(text, from);
  }
  [[nodiscard]] std::size_t rfind(Char unit, std::size_t from = npos) const noexcept {
    return view().rfind(unit, from);
  }
  [[nodiscard]] std::size_t rfind(const Char* text, std::size_t from, std::size_t count) const {
    return view().rfind(text, from, count);
  }
  [[nodiscard]] std::size_t find_first_of(view_type set, std::size_t from = 0) const noexcept {
    return view().find_first_of(set, from);
  }
  [[nodiscard]] std::size_t find_first_of(Char unit, std::size_t from = 0) const noexcept {
    return find(unit, from);
  }
  [[nodiscard]] std::size_t find_last_of(view_type set, std::size_t from = npos) const noexcept {
    return view().find_last_of(set, from);
  }
  [[nodiscard]] std::size_t find_last_of(Char unit, std::size_t from = npos) const noexcept {
    return rfind(unit, from);
  }
  [[nodiscard]] std::size_t find_first_not_of(view_type set, std::size_t from = 0) const noexcept {
    return view().find_first_not_of(set, from);
  }
  [[nodiscard]] std::size_t find_first_not_of(Char unit, std::size_t from = 0) const noexcept {
    return view().find_first_not_of(unit, from);
  }
  [[nodiscard]] std::size_t find_last_not_of(view_type set, std::size_t from = npos) const noexcept {
    return view().find_last_not_of(set, from);
  }
  [[nodiscard]] std::size_t find_last_not_of(Char unit, std::size_t from = npos) const noexcept {
    return view().find_last_not_of(unit, from);
  }

 private:
  [[nodiscard]] view_type view() const noexcept { return static_cast<const Self&>(*this).view(); }
};

}  // namespace situ::detail
