// Blackboards: the latest value of each of some keys, which one writer replaces and others read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/blackboard.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/layout/message.hpp"
#include "situ/validate.hpp"

namespace situ {
namespace detail {

/// A type whose values a blackboard can keep.
template <class T>
concept blackboard_value = flat_message<T> && std::is_same_v<typename T::bulk_lengths, no_bulk> &&
                           sizeof(T) <= 65536;

}  // namespace detail

/// The state of a blackboard's writer: see situ/blackboard.h.
enum class writer_state : std::uint32_t {
  alive = SITU_WRITER_ALIVE,
  dead = SITU_WRITER_DEAD,
  left = SITU_WRITER_LEFT,
};

/// The writer of a blackboard: it has one, and its keys are fixed when it is created. Only one thread may use
/// it at a time. Readers never block it.
template <detail::blackboard_value T>
class blackboard_writer {
 public:
  /// Creates a blackboard with these keys, or continues the one of a killed writer with the same type and
  /// keys. The position of a key is that in `keys`.
  blackboard_writer(const node& on, const std::string& name, const std::vector<std::string>& keys) {
    detail::failed why;
    create(on, name, keys, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<blackboard_writer, error> try_create(const node& on, const std::string& name,
                                                                   const std::vector<std::string>& keys) {
    detail::failed why;
    blackboard_writer made;
    made.create(on, name, keys, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Replaces the value of the key at a position, and returns its new version, from 1 on.
  std::uint64_t set(std::size_t position, const T& value) {
    detail::failed why;
    const std::uint64_t version = write(position, value, why);
    detail::raise_if(why);
    return version;
  }
  /// As `set`, without an exception.
  [[nodiscard]] result<std::uint64_t, error> try_set(std::size_t position, const T& value) {
    detail::failed why;
    std::uint64_t version = write(position, value, why);
    return detail::result_of(std::move(version), std::move(why));
  }

 private:
  blackboard_writer() = default;

  void create(const node& on, const std::string& name, const std::vector<std::string>& keys,
              detail::failed& why) {
    situ_error raw;
    situ_blackboard_writer* made = nullptr;
    std::vector<const char*> texts;
    for (const std::string& key : keys) texts.push_back(key.c_str());
    auto type = detail::type_description::of<T>();
    const situ_status status = situ_blackboard_writer_create(on.handle(), name.c_str(), type.get(),
                                                             texts.data(), texts.size(), &made, &raw);
    if (detail::succeeded(status, raw, why)) handle_.reset(made);
  }

  std::uint64_t write(std::size_t position, const T& value, detail::failed& why) {
    situ_error raw;
    std::uint64_t version = 0;
    // A copy whose unused bytes are zeroes: those of `value` may be remains of other data.
    alignas(T) std::byte copy[sizeof(T)]{};
    ::new (static_cast<void*>(copy)) T(value);
    const situ_status status =
        situ_blackboard_writer_set(handle_.get(), position, copy, sizeof(T), &version, &raw);
    detail::succeeded(status, raw, why);
    return version;
  }

  detail::owner<situ_blackboard_writer> handle_;
};

/// A value that was read, with its version: how often the key was set.
template <class T>
struct versioned {
  T value;
  std::uint64_t version;
};

/// A reader of a blackboard. All threads may use it at once.
template <detail::blackboard_value T>
class blackboard_reader {
 public:
  /// Opens a blackboard. Throws `errc::empty` if there is none.
  blackboard_reader(const node& on, const std::string& name) {
    detail::failed why;
    open(on, name, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<blackboard_reader, error> try_create(const node& on, const std::string& name) {
    detail::failed why;
    blackboard_reader made;
    made.open(on, name, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// The number of keys.
  [[nodiscard]] std::size_t key_count() const noexcept {
    return situ_blackboard_reader_key_count(handle_.get());
  }
  /// The key at a position below `key_count()`.
  [[nodiscard]] std::string_view key(std::size_t position) const noexcept {
    const char* const text = situ_blackboard_reader_key(handle_.get(), position);
    return text != nullptr ? std::string_view(text) : std::string_view();
  }
  /// The position of a key.
  [[nodiscard]] std::optional<std::size_t> position(const std::string& key) const {
    std::size_t found = 0;
    if (situ_blackboard_reader_find(handle_.get(), key.c_str(), &found, nullptr) != SITU_OK) return {};
    return found;
  }

  /// A copy of the last value of the key at a position; nothing if it was never set.
  [[nodiscard]] std::optional<versioned<T>> get(std::size_t position) const {
    detail::failed why;
    std::optional<versioned<T>> found = read(position, why);
    detail::raise_if(why);
    return found;
  }
  /// As `get`, without an exception.
  [[nodiscard]] result<std::optional<versioned<T>>, error> try_get(std::size_t position) const {
    detail::failed why;
    std::optional<versioned<T>> found = read(position, why);
    return detail::result_of(std::move(found), std::move(why));
  }

  /// How often the key at a position was set; 0: never.
  [[nodiscard]] std::uint64_t version(std::size_t position) const noexcept {
    return situ_blackboard_reader_version(handle_.get(), position);
  }
  /// Whether the value of a key was set after this version.
  [[nodiscard]] bool changed_since(std::size_t position, std::uint64_t version) const noexcept {
    return this->version(position) != version;
  }
  /// How many values of all keys were set.
  [[nodiscard]] std::uint64_t changes() const noexcept {
    return situ_blackboard_reader_changes(handle_.get());
  }
  /// The writer's state. Reads files: do not call it for each value.
  [[nodiscard]] writer_state writer() const noexcept {
    return static_cast<writer_state>(situ_blackboard_reader_writer(handle_.get()));
  }

 private:
  blackboard_reader() = default;

  void open(const node& on, const std::string& name, detail::failed& why) {
    situ_error raw;
    situ_blackboard_reader* made = nullptr;
    auto type = detail::type_description::of<T>();
    const situ_status status =
        situ_blackboard_reader_create(on.handle(), name.c_str(), type.get(), &made, &raw);
    if (status == SITU_EMPTY) {
      why.emplace(errc::empty, "there is no blackboard \"" + name + "\": start its writer first");
    } else if (detail::succeeded(status, raw, why)) {
      handle_.reset(made);
    }
  }

  std::optional<versioned<T>> read(std::size_t position, detail::failed& why) const {
    situ_error raw;
    std::uint64_t version = 0;
    alignas(T) std::byte copy[sizeof(T)];
    const situ_status status =
        situ_blackboard_reader_get(handle_.get(), position, copy, sizeof(T), &version, &raw);
    if (!detail::succeeded(status, raw, why) || status == SITU_EMPTY) return {};
    const auto value = validate_bytes<T>(copy, 0);
    if (!value) {
      why.emplace(errc::malformed, "the value of key \"" + std::string(key(position)) + "\" is not a valid " +
                                       std::string(T::situ_name) + ": " + value.error().message());
      return {};
    }
    return versioned<T>{**value, version};
  }

  detail::owner<situ_blackboard_reader> handle_;
};

}  // namespace situ
