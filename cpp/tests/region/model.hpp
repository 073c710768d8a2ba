// A program of container operations, read from bytes, done to a region and to standard containers alike; for
// the tests with random programs and for the fuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "region/character.hpp"

namespace situ_test {

struct model_gear {
  std::uint32_t level = 0;
  std::vector<float> attributes;
};

/// A node, with so much of what is below it as programs make: the values of children, each with a node behind
/// it that has the negative, and of the node behind it.
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
      // There was no room for some of those behind the children.
      [](const Node& a, std::int32_t b) { return a.value == b && (!a.next || a.next->value == -b); });
}

/// Whether the two hold the same, and look-up finds what iteration shows.
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

/// Reads a program; zeros when it has ended.
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
  /// One of 32 texts of 1 to 32 letters; some short, some long.
  std::string text() {
    const std::uint8_t which = byte() % 32;
    return std::string(std::size_t{which} + 1, static_cast<char>('a' + which % 26));
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// One step with the tree; false where there was no room.
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
      // A copy of what ends with it takes its place.
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

/// Checks images as a receiver would: what it takes on is the same value.
inline bool travels(const situ::region<Kitchen>& r) {
  struct alignas(16) granule {
    std::byte bytes[16];
  };
  for (const bool canonical : {false, true}) {
    const std::vector<std::byte> image =
        canonical ? r.canonical() : std::vector<std::byte>(r.bytes().begin(), r.bytes().end());
    std::vector<granule> copy(image.size() / 16);
    std::memcpy(copy.data(), image.data(), image.size());
    const auto taken = situ::region<Kitchen>::adopt(std::as_bytes(std::span(copy)));
    if (!taken || taken->canonical() != r.canonical()) return false;
  }
  return true;
}

/// Does the program; whether region and model agree all the way. `full_is_good`: operations may find no room,
/// and then nothing has changed.
inline bool run(program steps, situ::region<Kitchen>& r, bool full_is_good, std::size_t check_each) {
  model_kitchen m;
  Kitchen* k = r.get();
  bool good = true;
  const auto done = [&good, full_is_good](bool ok) {
    good = good && (ok || full_is_good);
    return ok;
  };
  for (std::size_t step = 1; good && !steps.ended(); ++step) {
    switch (steps.byte() % 26) {
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
