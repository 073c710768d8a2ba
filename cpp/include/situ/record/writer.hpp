// Writing recordings: a program adds topics with their types, and then messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/cdr.hpp"
#include "situ/layout/message.hpp"
#include "situ/record.h"
#include "situ/record/reader.hpp"
#include "situ/region.hpp"

namespace situ::record {

/// How chunks are compressed.
enum class compression : std::uint32_t {
  none = SITU_RECORD_UNCOMPRESSED,
  lz4 = SITU_RECORD_LZ4,
  zstd = SITU_RECORD_ZSTD,
};

/// How a file is written. Zeroes are the defaults of situ/record.h.
struct writer_options {
  record::compression compression = record::compression::none;
  /// How many threads compress.
  std::uint32_t threads = 1;
  /// Whether chunks that are not compressed have check sums, too.
  bool checksums = false;
  /// Whether an existing file is replaced. Otherwise it is an error.
  bool overwrite = false;
  /// The size in bytes at which a chunk is written. A kill loses at most the last chunk.
  std::uint64_t chunk_size = 0;
  /// How many bytes may wait for the file before writing waits.
  std::uint64_t queue_size = 0;
};

/// What was written.
struct written {
  std::uint64_t messages = 0;
  /// The size of the file in bytes.
  std::uint64_t size = 0;
};

/// When a message was recorded and published: now, if nothing else is said. Not before 1970.
struct times {
  std::optional<time> log{};
  /// The log time, if nothing else is said.
  std::optional<time> publish{};
};

/// A topic of a file that is being written.
template <message T>
class topic {
 private:
  friend class writer;
  explicit topic(std::uint32_t number) noexcept : number_(number) {}
  std::uint32_t number_;
};

/// Writes a file. May move between threads, but only one thread may use it at a time. Call `finish`: the
/// destructor ends the file as well, but cannot report what failed.
class writer {
 public:
  explicit writer(const std::string& path, const writer_options& options = {}) {
    detail::failed why;
    create(path, options, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<writer, error> try_create(const std::string& path,
                                                        const writer_options& options = {}) {
    detail::failed why;
    writer made;
    made.create(path, options, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Adds a topic of messages of type T. Flat messages and those on the heap are written as CDR; flat ones
  /// become flat again when the file is played. Messages in regions are written as images.
  template <message T>
  [[nodiscard]] record::topic<T> topic(const std::string& name) {
    auto made = try_topic<T>(name);
    if (!made) detail::raise(made.error());
    return *made;
  }
  /// As `topic`, without an exception.
  template <message T>
  [[nodiscard]] result<record::topic<T>, error> try_topic(const std::string& name) {
    auto number = try_add_topic(name, *describe<T>().get());
    if (!number) return failure{std::move(number).error()};
    return record::topic<T>(*number);
  }
  /// Adds a topic of bytes, and returns its number.
  [[nodiscard]] std::uint32_t add_topic(const std::string& name, const situ_type& type) {
    auto made = try_add_topic(name, type);
    if (!made) detail::raise(made.error());
    return *made;
  }
  /// As `add_topic`, without an exception.
  [[nodiscard]] result<std::uint32_t, error> try_add_topic(const std::string& name, const situ_type& type) {
    situ_error raw;
    detail::failed why;
    std::uint32_t number = 0;
    const situ_status status =
        situ_record_writer_add_topic(handle_.get(), name.c_str(), &type, &number, &raw);
    detail::succeeded(status, raw, why);
    return detail::result_of(std::move(number), std::move(why));
  }

  /// Writes a message. `body` is that of a flat message with bulk fields.
  template <message T>
  void write(const record::topic<T>& to, const T& value, const times& when = {},
             std::span<const std::byte> body = {}) {
    raise_if_failed(try_write(to, value, when, body));
  }
  /// As `write`, without an exception.
  template <message T>
  [[nodiscard]] result<void, error> try_write(const record::topic<T>& to, const T& value,
                                              const times& when = {}, std::span<const std::byte> body = {}) {
    static_assert(!region_message<T>, "pass the situ::region of the message");
    const auto bytes = encode_to_vector(value, encoding::xcdr1, body);
    if (!bytes) {
      return failure{error(errc::invalid_argument,
                           std::string(T::situ_name) + " cannot be serialized: " + bytes.error().message())};
    }
    return try_write(to.number_, *bytes, when);
  }
  /// Writes a region as a canonical image.
  template <region_message T>
  void write(const record::topic<T>& to, const region<T>& value, const times& when = {}) {
    raise_if_failed(try_write(to.number_, value.canonical(), when));
  }
  /// Writes the bytes of a message: CDR with its encapsulation header, or the image of a region.
  void write(std::uint32_t to, std::span<const std::byte> bytes, const times& when = {}) {
    raise_if_failed(try_write(to, bytes, when));
  }
  /// As `write`, without an exception.
  [[nodiscard]] result<void, error> try_write(std::uint32_t to, std::span<const std::byte> bytes,
                                              const times& when = {}) {
    if (is_early(when.log) || is_early(when.publish)) {
      return failure{error(errc::invalid_argument, "a message is written with a time before 1970")};
    }
    situ_error raw;
    detail::failed why;
    const situ_status status =
        situ_record_writer_write(handle_.get(), to, bytes.data(), bytes.size(), nanoseconds(when.log),
                                 nanoseconds(when.publish), &raw);
    detail::succeeded(status, raw, why);
    return done(std::move(why));
  }

  /// Waits until all messages so far are in the file, not necessarily on the disk.
  void flush() { raise_if_failed(try_flush()); }
  /// As `flush`, without an exception.
  [[nodiscard]] result<void, error> try_flush() {
    situ_error raw;
    detail::failed why;
    detail::succeeded(situ_record_writer_flush(handle_.get(), &raw), raw, why);
    return done(std::move(why));
  }

  /// Writes the rest and the summary, and closes the file. An exception says how many messages are missing.
  record::written finish() {
    auto made = try_finish();
    if (!made) detail::raise(made.error());
    return *made;
  }
  /// As `finish`, without an exception.
  [[nodiscard]] result<record::written, error> try_finish() {
    situ_error raw;
    detail::failed why;
    situ_record_written counts{};
    detail::succeeded(situ_record_writer_finish(handle_.get(), &counts, &raw), raw, why);
    return detail::result_of(record::written{counts.messages, counts.size}, std::move(why));
  }

 private:
  struct destroyer {
    void operator()(situ_record_writer* handle) const noexcept { situ_record_writer_destroy(handle); }
  };
  writer() = default;

  template <message T>
  static detail::type_description describe() {
    if constexpr (region_message<T>) {
      return detail::type_description::of_region<T>(region_detail::layout_hash<T>());
    } else {
      return detail::type_description::of<T>();
    }
  }
  static bool is_early(const std::optional<time>& of) noexcept { return of && *of < time(); }
  static std::uint64_t nanoseconds(const std::optional<time>& of) noexcept {
    return of ? static_cast<std::uint64_t>(of->time_since_epoch().count()) : SITU_RECORD_NOW;
  }
  static void raise_if_failed(const result<void, error>& made) {
    if (!made) detail::raise(made.error());
  }
  static result<void, error> done(detail::failed&& why) {
    if (why.has_value()) return failure{*std::move(why)};
    return {};
  }

  void create(const std::string& path, const writer_options& options, detail::failed& why) {
    situ_error raw;
    situ_record_writer* made = nullptr;
    const situ_record_writer_options of_c{static_cast<std::uint32_t>(options.compression),
                                          options.threads,
                                          options.checksums ? 1U : 0U,
                                          options.overwrite ? 1U : 0U,
                                          options.chunk_size,
                                          options.queue_size};
    if (detail::succeeded(situ_record_writer_create(path.c_str(), &of_c, &made, &raw), raw, why)) {
      handle_.reset(made);
    }
  }

  std::unique_ptr<situ_record_writer, destroyer> handle_;
};

}  // namespace situ::record
