// Runs a program of container operations, read from bytes, on a region and on standard containers alike, for
// the tests with random programs and for the fuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "region/character.hpp"
#include "situ/region/packed.hpp"
#include "support/memory.hpp"

namespace situ_test {

struct model_gear {
  std::uint32_t level = 0;
  std::vector<float> attributes;
};

/// A node with the descendants that programs create: the values of its children, each followed by a node with
/// the negative value, and the node's own successor.
struct model_node {
  std::int32_t value = 0;
  std::vector<std::int32_t> children;
  std::optional<std::int32_t> next;
};

struct model_kitchen {
  std::string name;
  std::optional<std::string> nickname;
  std::optional<model_node> tree;
  std::set<std::string> words;
  std::map<std::string, std::vector<std::uint16_t>> lists;
  std::set<std::int32_t> numbers;
  std::map<std::string, model_gear> gear;
  std::vector<bool> bits;
};

inline bool same(const situ::region_unique<Node>& tree, const std::optional<model_node>& m) {
  if (!tree || !m) return !tree && !m;
  if (tree->value != m->value || static_cast<bool>(tree->next) != m->next.has_value()) return false;
  if (m->next && tree->next->value != *m->next) return false;
  return std::equal(
      tree->children.begin(), tree->children.end(), m->children.begin(), m->children.end(),
      // There was no room for some of the nodes after the children.
      [](const Node& a, std::int32_t b) { return a.value == b && (!a.next || a.next->value == -b); });
}

/// Whether both hold the same elements, and lookup agrees with iteration.
inline bool same(const Kitchen& k, const model_kitchen& m) {
  if (k.names[0] != m.name || k.nickname.has_value() != m.nickname.has_value()) return false;
  if (m.nickname && *k.nickname != *m.nickname) return false;
  if (!same(k.tree, m.tree)) return false;
  if (!std::equal(k.words.begin(), k.words.end(), m.words.begin(), m.words.end(),
                  [](const auto& a, const auto& b) { return a == b; })) {
    return false;
  }
  if (k.lists.size() != m.lists.size() || k.numbers.size() != m.numbers.size() ||
      k.gear.size() != m.gear.size()) {
    return false;
  }
  auto list = m.lists.begin();
  for (const auto& [key, value] : k.lists) {
    if (key != list->first ||
        !std::equal(value.begin(), value.end(), list->second.begin(), list->second.end())) {
      return false;
    }
    ++list;
  }
  for (const std::int32_t number : m.numbers) {
    if (!k.numbers.contains(number)) return false;
  }
  std::size_t seen = 0;
  for (const auto& [key, value] : k.gear) {
    const auto found = m.gear.find(key.str());
    if (found == m.gear.end() || found->second.level != value.level ||
        !std::equal(value.attributes.begin(), value.attributes.end(), found->second.attributes.begin(),
                    found->second.attributes.end())) {
      return false;
    }
    ++seen;
  }
  for (const auto& [key, value] : m.gear) {
    if (!k.gear.contains(key)) return false;
  }
  return seen == m.gear.size() && std::equal(k.bits.begin(), k.bits.end(), m.bits.begin(), m.bits.end());
}

/// Reads a program, and zeros after its end.
class program {
 public:
  explicit program(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool ended() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  /// Returns one of 32 texts of 1 to 32 letters; some short, some long.
  std::string text() {
    const std::uint8_t which = byte() % 32;
    return std::string(std::size_t{which} + 1, static_cast<char>('a' + which % 26));
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// One step with the tree. Returns false if there was no room.
inline bool grow(Kitchen& k, model_kitchen& m, program& steps) {
  const std::uint8_t what = steps.byte() % 6;
  const std::int32_t value = steps.byte();
  if (!k.tree || what == 0) {
    if (k.tree.try_emplace(value) == nullptr) return false;
    m.tree = model_node{value, {}, {}};
    return true;
  }
  switch (what) {
    case 1:
      k.tree.reset();
      m.tree.reset();
      return true;
    case 2:
      if (k.tree->next.try_emplace(value) == nullptr) return false;
      m.tree->next = value;
      return true;
    case 3: {
      // A copy of a part that is released with the old value.
      if (m.tree->children.empty()) return true;
      const std::size_t at = static_cast<std::size_t>(value) % m.tree->children.size();
      const Node& child = k.tree->children[at];
      const std::int32_t kept = m.tree->children[at];
      const auto next = child.next ? std::optional(-kept) : std::nullopt;
      if (!k.tree.situ_store(child)) return false;
      m.tree = model_node{kept, {}, next};
      return true;
    }
    default: {
      if (m.tree->children.size() == 20) return true;
      const std::size_t at = static_cast<std::size_t>(value) % (m.tree->children.size() + 1);
      Node* const child = k.tree->children.try_emplace(k.tree->children.begin() + at, value);
      if (child == nullptr) return false;
      m.tree->children.insert(m.tree->children.begin() + static_cast<std::ptrdiff_t>(at), value);
      return child->next.try_emplace(-value) != nullptr;
    }
  }
}

/// Checks images as a receiver does. Returns whether the adopted value is the same.
inline bool travels(const situ::region<Kitchen>& r) {
  for (const bool canonical : {false, true}) {
    const std::vector<std::byte> image =
        canonical ? r.canonical() : std::vector<std::byte>(r.bytes().begin(), r.bytes().end());
    const auto taken = situ::region<Kitchen>::adopt(aligned_bytes(image).span());
    if (!taken || taken->canonical() != r.canonical()) return false;
  }
  const std::vector<std::byte> packed = situ::packed(r);
  const auto taken = situ::adopt_packed<Kitchen>(packed);
  return taken && taken->canonical() == r.canonical() && situ::packed(*taken) == packed;
}

/// Returns a position in a range of this size, and a length from there.
inline std::pair<std::size_t, std::size_t> part_of(std::size_t size, program& steps) {
  const std::size_t from = steps.byte() % (size + 1);
  return {from, steps.byte() % (size - from + 1)};
}

/// One step with the text. Returns whether there was room.
inline bool edit(situ::region_string& text, std::string& m, program& steps) {
  const auto [from, count] = part_of(m.size(), steps);
  switch (steps.byte() % 5) {
    case 0: {
      const std::string put = steps.text();
      if (!text.try_replace(from, count, put)) return false;
      m.replace(from, count, put);
      return true;
    }
    case 1: {
      // Part of the text itself.
      const std::string put = m.substr(from, count);
      if (m.size() > 2000) return true;
      if (!text.try_insert(m.size() / 2, text.substr(from, count))) return false;
      m.insert(m.size() / 2, put);
      return true;
    }
    case 2:
      if (!text.try_assign(text.substr(from, count))) return false;
      m = m.substr(from, count);
      return true;
    case 3:
      text.erase(from, count);
      m.erase(from, count);
      return true;
    default:
      if (!text.try_resize(from + count * 2, 'r')) return false;
      m.resize(from + count * 2, 'r');
      return true;
  }
}

/// One step with the elements of a list. Returns whether there was room.
inline bool edit(situ::region_vector<std::uint16_t>& list, std::vector<std::uint16_t>& m, program& steps) {
  const auto [from, count] = part_of(m.size(), steps);
  const auto begin = m.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  const std::uint16_t value = steps.byte();
  switch (value % 6) {
    case 0:
      if (!list.try_insert(list.begin() + from, count, value)) return false;
      m.insert(begin, count, value);
      return true;
    case 1: {
      const std::vector<std::uint16_t> part(begin, end);
      if (m.size() > 500) return true;
      if (!list.try_insert_range(list.begin() + m.size() / 2, std::span(list).subspan(from, count)))
        return false;
      m.insert(m.begin() + static_cast<std::ptrdiff_t>(m.size() / 2), part.begin(), part.end());
      return true;
    }
    case 2:
      list.erase(list.begin() + from, list.begin() + from + count);
      m.erase(begin, end);
      return true;
    case 3: {
      const auto gone = [value](std::uint16_t each) { return each % 5 == value % 5; };
      return erase_if(list, gone) == std::erase_if(m, gone);
    }
    case 4:
      if (!list.try_assign(count, value)) return false;
      m.assign(count, value);
      return true;
    default:
      if (!list.try_resize(from + count + 3, value)) return false;
      m.resize(from + count + 3, value);
      return true;
  }
}

/// One step with whole containers and structs. Returns false if region and model disagree, or if there was
/// unexpectedly no room.
inline bool wholly(Kitchen& k, model_kitchen& m, program& steps, std::uint8_t what, bool full_is_good) {
  switch (what) {
    case 0:
    case 1:
    case 2:
      return edit(k.names[0], m.name, steps) || full_is_good;
    case 3:
    case 4:
    case 5: {
      const std::string key = steps.text();
      const auto found = m.lists.find(key);
      auto* const list = k.lists.try_at(key);
      if (found == m.lists.end() || list == nullptr) return found == m.lists.end() && list == nullptr;
      return edit(*list, found->second, steps) || full_is_good;
    }
    case 6: {
      const std::size_t rest = steps.byte() % 3;
      const auto gone = [rest](const auto& entry) {
        return std::string_view(entry.first).size() % 3 == rest;
      };
      return erase_if(k.lists, gone) == std::erase_if(m.lists, gone);
    }
    case 7: {
      const std::size_t rest = steps.byte() % 3;
      const auto gone = [rest](const auto& entry) {
        return std::string_view(entry.first).size() % 3 == rest;
      };
      return erase_if(k.gear, gone) == std::erase_if(m.gear, gone);
    }
    case 8: {
      const int rest = steps.byte() % 4;
      const auto gone = [rest](std::int32_t number) { return (number % 4 + 4) % 4 == rest; };
      return erase_if(k.numbers, gone) == std::erase_if(m.numbers, gone);
    }
    case 9: {
      const std::string key = steps.text();
      const auto [first, last] = k.words.equal_range(key);
      const auto [from, to] = m.words.equal_range(key);
      if ((first == k.words.end()) != (from == m.words.end()) || last - first != std::distance(from, to))
        return false;
      k.words.erase(first, last);
      m.words.erase(from, to);
      return true;
    }
    case 10: {
      const std::set<std::string> more{steps.text(), steps.text(), steps.text()};
      if (!k.words.try_insert_range(more)) return full_is_good;
      m.words.insert(more.begin(), more.end());
      return true;
    }
    case 11: {
      std::map<std::string, std::vector<std::uint16_t>> more;
      for (int i = 0; i < 3; ++i) more[steps.text()].assign(steps.byte() % 9U, steps.byte());
      if (!k.lists.try_insert_range(more)) return full_is_good;
      m.lists.insert(more.begin(), more.end());
      return true;
    }
    case 12: {
      // A copy replaces a whole struct: the value of one key is assigned to another.
      const std::string from = steps.text();
      const std::string to = steps.text();
      const Equip* const source = k.gear.try_at(from);
      if (source == nullptr) return !m.gear.contains(from);
      const model_gear gear = m.gear.at(from);
      if (Equip* const target = k.gear.try_at(to)) {
        if (!situ::try_assign(*target, *source)) return full_is_good;
        m.gear[to] = gear;
      }
      return true;
    }
    case 13: {
      std::set<std::int32_t> more;
      for (int i = 0; i < 6; ++i) more.insert(steps.byte() * 7919 - 1'000'000);
      if (!k.numbers.try_insert_range(more)) return full_is_good;
      m.numbers.insert(more.begin(), more.end());
      return true;
    }
    case 14:
      if (!k.words.try_assign(m.words)) return full_is_good;
      return k.lists.try_assign(m.lists) || full_is_good;
    case 15: {
      std::set<std::int32_t> more;
      for (int i = steps.byte() % 9; i > 0; --i) more.insert(steps.byte() * 7919 - 1'000'000);
      if (!k.numbers.try_assign(more)) return full_is_good;
      m.numbers = more;
      return true;
    }
    case 16: {
      // The successor of the tree's root replaces the whole root.
      if (!m.tree || !m.tree->next) return true;
      const std::int32_t value = *m.tree->next;
      if (!situ::try_assign(*k.tree, *k.tree->next)) return full_is_good;
      m.tree = model_node{value, {}, {}};
      return true;
    }
    case 17: {
      const std::string key = steps.text();
      if (const auto at = k.gear.find(key); at != k.gear.end()) k.gear.erase(at);
      m.gear.erase(key);
      return true;
    }
    default:
      if (!k.nickname.try_assign(std::optional(std::string_view(m.name)))) return full_is_good;
      m.nickname = m.name;
      return true;
  }
}

/// Runs the program. Returns true if region and model agree after each step. With `full_is_good`, operations
/// may find no room, and then the region does not change.
inline bool run(program steps, situ::region<Kitchen>& r, bool full_is_good, std::size_t check_each) {
  model_kitchen m;
  Kitchen* k = r.get();
  bool good = true;
  const auto done = [&good, full_is_good](bool ok) {
    good = good && (ok || full_is_good);
    return ok;
  };
  for (std::size_t step = 1; good && !steps.ended(); ++step) {
    const std::uint8_t what = steps.byte();
    if (what >= 234) good = wholly(*k, m, steps, what - 234, full_is_good);
    switch (what >= 234 ? 26 : what % 26) {
      case 0: {
        const std::string text = steps.text();
        if (done(k->names[0].try_assign(text))) m.name = text;
        break;
      }
      case 1: {
        const std::string text = steps.text();
        if (m.name.size() < 2000 && done(k->names[0].try_append(text))) m.name += text;
        break;
      }
      case 2:
        if (!m.name.empty()) {
          k->names[0].pop_back();
          m.name.pop_back();
        }
        break;
      case 3:
        k->names[0].shrink_to_fit();
        break;
      case 4: {
        const std::string text = steps.text();
        if (done(k->nickname.situ_store(std::string_view(text))))
          m.nickname = text;
        else if (!k->nickname)
          m.nickname.reset();
        break;
      }
      case 5:
        k->nickname.reset();
        m.nickname.reset();
        break;
      case 6:
      case 7: {
        const std::string text = steps.text();
        const auto [at, is_new] = k->words.try_insert(text);
        if (done(at != nullptr)) good = good && m.words.insert(text).second == is_new;
        break;
      }
      case 8: {
        const std::string text = steps.text();
        good = good && k->words.erase(text) == m.words.erase(text);
        break;
      }
      case 9:
      case 10: {
        const std::string key = steps.text();
        const std::uint16_t value = steps.byte();
        auto* list = k->lists.try_insert(key).first;
        if (!done(list != nullptr)) break;
        m.lists[key];
        const std::size_t where = m.lists[key].size() / 2;
        if (done(list->try_emplace(list->begin() + where, value) != nullptr)) {
          m.lists[key].insert(m.lists[key].begin() + static_cast<std::ptrdiff_t>(where), value);
        }
        break;
      }
      case 11: {
        const std::string key = steps.text();
        good = good && k->lists.erase(key) == m.lists.erase(key);
        break;
      }
      case 12: {
        const std::string key = steps.text();
        if (auto found = m.lists.find(key); found != m.lists.end() && !found->second.empty()) {
          k->lists.at(key).erase(k->lists.at(key).begin());
          found->second.erase(found->second.begin());
        }
        break;
      }
      case 13:
      case 14:
      case 15: {
        const std::int32_t number = steps.byte() * 7919 - 1'000'000;
        if (done(k->numbers.try_insert(number).first != nullptr)) m.numbers.insert(number);
        break;
      }
      case 16: {
        const std::int32_t number = steps.byte() * 7919 - 1'000'000;
        good = good && k->numbers.erase(number) == m.numbers.erase(number);
        break;
      }
      case 17:
        k->numbers.shrink_to_fit();
        k->words.shrink_to_fit();
        k->gear.shrink_to_fit();
        r.trim();
        break;
      case 18:
      case 19: {
        const std::string key = steps.text();
        Equip* equip = k->gear.try_insert(key).first;
        if (!done(equip != nullptr)) break;
        model_gear& gear = m.gear[key];
        equip->level = gear.level = steps.byte();
        if (done(equip->attributes.try_push_back(0.5F))) gear.attributes.push_back(0.5F);
        break;
      }
      case 20: {
        const std::string key = steps.text();
        good = good && k->gear.erase(key) == m.gear.erase(key);
        break;
      }
      case 21: {
        const std::size_t count = steps.byte();
        if (done(k->bits.try_resize(count))) m.bits.resize(count);
        for (std::size_t i = 0; i < m.bits.size(); i += 3) k->bits[i] = m.bits[i] = true;
        break;
      }
      case 22:
        if (steps.byte() % 4 == 0) {
          k->gear.clear();
          m.gear.clear();
        } else {
          k->lists.clear();
          m.lists.clear();
        }
        break;
      case 23:
        r.compact();
        k = r.get();
        break;
      case 24:
        r.compact_in_place();
        k = r.get();
        good = good && r.free_bytes() == 0;
        break;
      case 25:
        done(grow(*k, m, steps));
        break;
    }
    if (step % check_each == 0) good = good && same(*k, m) && travels(r);
  }
  return good && same(*k, m) && travels(r);
}

}  // namespace situ_test
