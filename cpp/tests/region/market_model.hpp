// Unions, shared links and ordered containers of text together with standard ones, for the tests with random
// programs and for the fuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "region/market.hpp"
#include "region/model.hpp"
#include "support/memory.hpp"

namespace situ_test {

struct model_texture {
  std::string name;
  std::shared_ptr<model_texture> base;
};

struct model_market {
  using drawn = std::variant<float, std::string, std::vector<float>>;

  std::set<std::string> words;
  std::map<std::string, std::uint32_t> prices;
  std::vector<std::pair<std::int32_t, drawn>> shapes;
  std::vector<std::shared_ptr<model_texture>> textures;
  /// Links to items. Copies share an item.
  std::map<std::uint8_t, std::shared_ptr<std::uint32_t>> boxed;
};

/// Whether two links lead to equal values, by their names and numbers of links.
inline bool same(const situ::region_shared<Texture>& link, const std::shared_ptr<model_texture>& model) {
  if (!link || !model) return !link && !model;
  return link->name == model->name && link.use_count() == static_cast<std::uint32_t>(model.use_count()) &&
         same(link->base, model->base);
}

inline bool same(const Shape& shape, const std::pair<std::int32_t, model_market::drawn>& model) {
  if (shape.discriminator() != model.first || shape.index() != model.second.index()) return false;
  switch (shape.index()) {
    case 0:
      return shape.get<"radius">() == std::get<0>(model.second);
    case 1:
      return shape.get<"label">() == std::get<1>(model.second);
    default: {
      const auto& points = shape.get<"points">();
      const auto& drawn = std::get<2>(model.second);
      return std::equal(points.begin(), points.end(), drawn.begin(), drawn.end());
    }
  }
}

inline bool same(const Market& m, const model_market& model) {
  const auto word = [](const auto& a, const auto& b) { return a == b; };
  const auto price = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.id == b.second;
  };
  const auto box = [](const auto& a, const auto& b) {
    const auto& [key, link] = a;
    if (key != b.first || !link || !b.second) return key == b.first && !link && !b.second;
    return link->id == *b.second && link.use_count() == static_cast<std::uint32_t>(b.second.use_count());
  };
  if (m.textures.size() != model.textures.size()) return false;
  for (std::size_t i = 0; i < model.textures.size(); ++i) {
    if (!same(m.textures[i], model.textures[i])) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if ((m.textures[i] == m.textures[j]) != (model.textures[i] == model.textures[j])) return false;
    }
  }
  return std::equal(m.words.begin(), m.words.end(), model.words.begin(), model.words.end(), word) &&
         std::equal(m.prices.begin(), m.prices.end(), model.prices.begin(), model.prices.end(), price) &&
         std::equal(m.shapes.begin(), m.shapes.end(), model.shapes.begin(), model.shapes.end(),
                    [](const auto& a, const auto& b) { return same(a, b); }) &&
         std::equal(m.boxed.begin(), m.boxed.end(), model.boxed.begin(), model.boxed.end(), box);
}

/// Whether a texture is `wanted` or one of its bases is.
inline bool leads_to(const std::shared_ptr<model_texture>& from,
                     const std::shared_ptr<model_texture>& wanted) {
  return from && (from == wanted || leads_to(from->base, wanted));
}

/// Returns the number of bases below a texture. Programs keep it small, because readers follow at most 64
/// links.
inline int bases(const std::shared_ptr<model_texture>& from) { return from ? 1 + bases(from->base) : 0; }

/// One step with the shapes. Returns false if region and model disagree, or if there was unexpectedly no
/// room.
inline bool draw(Market& m, model_market& model, program& steps, bool full_is_good) {
  const std::size_t at = steps.byte() % 12;
  if (at >= model.shapes.size()) {
    if (m.shapes.try_emplace_back() == nullptr) return full_is_good;
    model.shapes.emplace_back(0, std::vector<float>());
    return true;
  }
  Shape& shape = m.shapes[at];
  auto& [discriminator, drawn] = model.shapes[at];
  switch (steps.byte() % 5) {
    case 0:
      m.shapes.erase(m.shapes.begin() + at);
      model.shapes.erase(model.shapes.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    case 1: {
      discriminator = steps.byte() % 6 - 1;
      shape.select(discriminator);
      const std::size_t member = discriminator == 1 ? 0 : discriminator == 2 || discriminator == 3 ? 1 : 2;
      // A member that is already selected stays unchanged.
      if (member == drawn.index()) return true;
      if (member == 0) drawn = 0.0F;
      if (member == 1) drawn = std::string();
      if (member == 2) drawn = std::vector<float>();
      return true;
    }
    case 2: {
      const std::string text = steps.text();
      if (shape.try_emplace<"label">(3, text) == nullptr) return full_is_good;
      discriminator = 3;
      drawn = text;
      return true;
    }
    case 3: {
      const std::size_t from = steps.byte() % model.shapes.size();
      if (!shape.try_assign(m.shapes[from])) return full_is_good;
      model.shapes[at] = std::pair(model.shapes[from]);
      return true;
    }
    default: {
      const auto number = static_cast<float>(steps.byte());
      if (float* radius = shape.get_if<"radius">()) {
        *radius = number;
        drawn = number;
      } else if (auto* points = shape.get_if<"points">()) {
        if (!points->try_push_back(number)) return full_is_good;
        std::get<2>(drawn).push_back(number);
      }
      return true;
    }
  }
}

/// One step with the textures.
inline bool link(Market& m, model_market& model, program& steps, bool full_is_good) {
  const std::size_t at = steps.byte() % 7;
  if (at >= model.textures.size()) {
    if (m.textures.try_emplace_back() == nullptr) return full_is_good;
    model.textures.emplace_back();
    return true;
  }
  auto& texture = m.textures[at];
  auto& mine = model.textures[at];
  const std::uint8_t other = steps.byte();
  const std::size_t from = other % model.textures.size();
  switch (steps.byte() % 10) {
    case 0:
      m.textures.erase(m.textures.begin() + at);
      model.textures.erase(model.textures.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    case 1:
      texture.reset();
      mine.reset();
      return true;
    case 2:
    case 3:
      // A value outside all textures is never part of a cycle, and links need no memory.
      if (!texture.try_share(m.textures[from])) return false;
      mine = std::shared_ptr(model.textures[from]);
      return true;
    case 4:
    case 5: {
      const auto to = model.textures[from];
      if (!mine || bases(to) > 20) return true;
      const bool good = to == mine->base || !leads_to(to, mine);
      if (texture->base.try_share(m.textures[from]) != good) return false;
      if (good) mine->base = to;
      return true;
    }
    case 6:
      // The base of a texture. It may belong to the texture of this link, which is released with it.
      if (!model.textures[from]) return true;
      if (!texture.try_share(m.textures[from]->base)) return false;
      mine = std::shared_ptr(model.textures[from]->base);
      return true;
    default: {
      const std::string text = steps.text();
      if (texture && other % 3 == 0) {
        if (!texture->name.try_assign(text)) return full_is_good;
        mine->name = text;
      } else if (texture && other % 3 == 1) {
        if (texture->base.try_emplace(text) == nullptr) return full_is_good;
        mine->base = std::make_shared<model_texture>(model_texture{text, {}});
      } else {
        if (texture.try_emplace(text) == nullptr) return full_is_good;
        mine = std::make_shared<model_texture>(model_texture{text, {}});
      }
      return true;
    }
  }
}

/// One step with the map of links.
inline bool box(Market& m, model_market& model, program& steps, bool full_is_good) {
  const std::uint8_t key = steps.byte() % 8;
  const std::uint8_t other = steps.byte() % 8;
  switch (steps.byte() % 4) {
    case 0:
      return m.boxed.erase(key) == model.boxed.erase(key);
    case 1: {
      const auto found = model.boxed.find(other);
      if (found == model.boxed.end()) return !m.boxed.contains(other);
      if (m.boxed.try_insert(key).first == nullptr) return full_is_good;
      model.boxed[key] = found->second;
      return m.boxed.at(key).try_share(m.boxed.at(other));
    }
    default: {
      auto* link = m.boxed.try_insert(key).first;
      if (link == nullptr) return full_is_good;
      auto& mine = model.boxed[key];
      if (link->try_emplace(item(other)) == nullptr) return full_is_good;
      mine = std::make_shared<std::uint32_t>(other);
      return true;
    }
  }
}

/// Whether the elements from a key on, and after it, are the same.
inline bool bounds(const Market& m, const model_market& model, const std::string& key) {
  const auto same_word = [&](const auto& at, const auto& other) {
    return (at == m.words.end()) == (other == model.words.end()) && (at == m.words.end() || *at == *other);
  };
  const auto same_price = [&](const auto& at, const auto& other) {
    return (at == m.prices.end()) == (other == model.prices.end()) &&
           (at == m.prices.end() || (*at).first == other->first);
  };
  return same_word(m.words.lower_bound(key), model.words.lower_bound(key)) &&
         same_word(m.words.upper_bound(key), model.words.upper_bound(key)) &&
         same_price(m.prices.lower_bound(key), model.prices.lower_bound(key)) &&
         same_price(m.prices.upper_bound(key), model.prices.upper_bound(key));
}

/// Erases the links to values with this number of links, as `erase_if` does: one after the other, each in its
/// state at that time.
inline std::size_t erase_links(std::vector<std::shared_ptr<model_texture>>& links, std::size_t uses) {
  const std::size_t before = links.size();
  for (auto at = links.begin(); at != links.end();) {
    at = static_cast<std::size_t>(at->use_count()) == uses ? links.erase(at) : at + 1;
  }
  return before - links.size();
}

/// Operations that leave the value unchanged.
inline void tidy(situ::region<Market>& r, std::uint8_t way) {
  switch (way % 4) {
    case 0:
      r.compact();
      break;
    case 1:
      r.compact_in_place();
      break;
    case 2:
      r->shapes.shrink_to_fit();
      r->textures.shrink_to_fit();
      r->boxed.shrink_to_fit();
      break;
    case 3:
      r->words.shrink_to_fit();
      r->prices.shrink_to_fit();
      r.trim();
      break;
  }
}

/// Operations that empty a container.
inline void clear(Market& m, model_market& model, std::uint8_t which) {
  switch (which % 5) {
    case 0:
      m.words.clear();
      model.words.clear();
      break;
    case 1:
      m.prices.clear();
      model.prices.clear();
      break;
    case 2:
      m.shapes.clear();
      model.shapes.clear();
      break;
    case 3:
      m.textures.clear();
      model.textures.clear();
      break;
    case 4:
      m.boxed.clear();
      model.boxed.clear();
      break;
  }
}

/// One step with many elements at once. Returns false if region and model disagree, or if there was
/// unexpectedly no room.
inline bool many(Market& m, model_market& model, program& steps, bool full_is_good) {
  const std::uint8_t what = steps.byte() % 8;
  const std::size_t rest = steps.byte() % 3;
  const auto by_size = [rest](const auto& key) { return std::string_view(key).size() % 3 == rest; };
  switch (what) {
    case 0: {
      if (model.shapes.empty() || model.shapes.size() > 12) return true;
      const std::size_t at = steps.byte() % (model.shapes.size() + 1);
      const std::size_t from = steps.byte() % model.shapes.size();
      if (!m.shapes.try_insert(m.shapes.begin() + at, 1 + rest, m.shapes[from])) return full_is_good;
      const auto shape = model.shapes[from];
      model.shapes.insert(model.shapes.begin() + static_cast<std::ptrdiff_t>(at), 1 + rest, shape);
      return true;
    }
    case 1: {
      const auto number = static_cast<std::int32_t>(rest);
      return erase_if(m.shapes, [number](const Shape& shape) { return shape.discriminator() == number; }) ==
             std::erase_if(model.shapes, [number](const auto& shape) { return shape.first == number; });
    }
    case 2:
      return erase_if(m.textures, [rest](const auto& link) { return link.use_count() == rest; }) ==
             erase_links(model.textures, rest);
    case 3: {
      std::map<std::string, std::uint32_t> more;
      for (std::uint32_t i = 0; i < 3; ++i) more[steps.text()] = i;
      std::vector<std::pair<std::string, Item>> items;
      for (const auto& [key, number] : more) items.emplace_back(key, item(number));
      if (!m.prices.try_insert_range(items)) return full_is_good;
      model.prices.insert(more.begin(), more.end());
      return true;
    }
    case 4: {
      const std::string one = steps.text();
      const std::string other = steps.text();
      const auto& [low, high] = std::minmax(one, other);
      const auto behind = m.prices.erase(m.prices.lower_bound(low), m.prices.upper_bound(high));
      const auto expected = model.prices.erase(model.prices.lower_bound(low), model.prices.upper_bound(high));
      return (behind == m.prices.end()) == (expected == model.prices.end()) &&
             (expected == model.prices.end() || (*behind).first == expected->first);
    }
    case 5:
      return erase_if(m.words, by_size) == std::erase_if(model.words, by_size);
    case 6: {
      const auto gone = [rest](const auto& entry) { return entry.first % 3 == static_cast<int>(rest); };
      return erase_if(m.boxed, gone) == std::erase_if(model.boxed, gone);
    }
    default: {
      const std::set<std::string> words{steps.text(), steps.text()};
      if (!m.words.try_assign(words)) return full_is_good;
      model.words = words;
      return true;
    }
  }
}

/// Runs the program. Returns true if region and model agree after each step, and the image is valid at the
/// end.
inline bool run(program steps, situ::region<Market>& r, bool full_is_good) {
  model_market model;
  bool good = true;
  while (good && !steps.ended()) {
    const std::uint8_t what = steps.byte();
    if (what >= 240) good = many(*r, model, steps, full_is_good);
    switch (what >= 240 ? 15 : what % 15) {
      case 0:
      case 1: {
        const std::string text = steps.text();
        const auto [at, is_new] = r->words.try_insert(text);
        good = at == nullptr ? full_is_good : model.words.insert(text).second == is_new;
        break;
      }
      case 2: {
        const std::string text = steps.text();
        good = r->words.erase(text) == model.words.erase(text);
        break;
      }
      case 3:
      case 4: {
        const std::string text = steps.text();
        const std::uint8_t number = steps.byte();
        if (r->prices.try_insert_or_assign(text, item(number))) {
          model.prices[text] = number;
        } else {
          good = full_is_good;
        }
        break;
      }
      case 5: {
        const std::string text = steps.text();
        good = r->prices.erase(text) == model.prices.erase(text);
        break;
      }
      case 6:
      case 7:
        good = draw(*r, model, steps, full_is_good);
        break;
      case 8:
      case 9:
      case 10:
        good = link(*r, model, steps, full_is_good);
        break;
      case 11:
        good = box(*r, model, steps, full_is_good);
        break;
      case 12:
        good = bounds(*r, model, steps.text());
        break;
      case 13:
        tidy(r, steps.byte());
        break;
      case 14:
        clear(*r, model, steps.byte());
        break;
    }
  }
  aligned_bytes sent(r.bytes());
  const auto taken = situ::region<Market>::adopt(sent.span());
  const std::vector<std::byte> packed = situ::packed(r);
  const auto unpacked = situ::adopt_packed<Market>(packed);
  return good && same(*r, model) && taken && same(**taken, model) && taken->canonical() == r.canonical() &&
         unpacked && unpacked->canonical() == r.canonical() && situ::packed(*unpacked) == packed;
}

}  // namespace situ_test
