// Reading recordings: what is in a file, and its messages in the order of their times.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/region/open.hpp"
#include "situ/cdr.hpp"
#include "situ/layout/bulk.hpp"
#include "situ/layout/message.hpp"
#include "situ/record.h"

namespace situ::record {

/// A time of a file.
using time = std::chrono::sys_time<std::chrono::nanoseconds>;

/// The messages of one publisher of a topic.
struct channel {
  /// The topic's name on the bus.
  std::string topic;
  /// The name of the type, for example `sensor_msgs::msg::Image`; empty without one.
  std::string type_name;
  /// The encoding of the messages: `cdr`, or `situ-region` for images of regions.
  std::string message_encoding;
  /// The schema of the type as canonical text. Empty if the definition cannot be read; `problem` says why.
  std::string schema;
  std::string problem;
  /// The hash of the schema; 0 without one.
  std::uint64_t schema_hash = 0;
  /// The id of the publisher, and its node; empty if they are not known.
  std::string publisher;
  std::string node;
  std::uint64_t messages = 0;
  /// The situ_encoding on the bus; 0 if it is not known.
  std::uint32_t encoding = 0;
};

/// Which messages are read: all, by default.
struct filter {
  /// The topics, by their names on the bus. Empty: all.
  std::vector<std::string> topics{};
  /// The first log time, and the first one that is too late.
  std::optional<time> start{};
  std::optional<time> end{};
};

/// A message that was decoded.
template <message T>
class decoded {
 public:
  [[nodiscard]] const T& operator*() const noexcept { return content_->value; }
  [[nodiscard]] const T* operator->() const noexcept { return &content_->value; }
  /// The elements of a bulk field: `cloud.bulk(&PointCloud2::data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<const U> bulk(bulk_ref<U, N> T::*member) const noexcept {
    return (content_->value.*member)
        .try_span(std::span<const std::byte>(content_->body))
        .value_or(std::span<const U>());
  }
  /// The same for a message on the heap. Its field is a vector.
  template <detail::sequence V>
  [[nodiscard]] std::span<const typename V::value_type> bulk(V T::*member) const noexcept {
    return content_->value.*member;
  }

 private:
  friend class message_view;
  struct content {
    T value;
    std::vector<std::byte> body;
  };
  decoded() : content_(std::make_unique<content>()) {}
  // On the heap, because flat messages may be large.
  std::unique_ptr<content> content_;
};

/// A message of a file. Valid until the cursor goes on.
class message_view {
 public:
  [[nodiscard]] const record::channel& channel() const noexcept { return *channel_; }
  [[nodiscard]] const std::string& topic() const noexcept { return channel_->topic; }
  /// When it was recorded.
  [[nodiscard]] time log_time() const noexcept { return of(raw_.log_time); }
  /// When it was published.
  [[nodiscard]] time publish_time() const noexcept { return of(raw_.publish_time); }
  /// Its number among those of its publisher, modulo 2^32.
  [[nodiscard]] std::uint32_t sequence() const noexcept { return raw_.sequence; }
  /// Its bytes, in the encoding of the channel.
  [[nodiscard]] std::span<const std::byte> data() const noexcept {
    return {static_cast<const std::byte*>(raw_.data), raw_.size};
  }

  /// The message as a T. Its channel must have this type: the same name and, unless it is a region, the same
  /// schema.
  template <message T>
  [[nodiscard]] decoded<T> as() const {
    auto made = try_as<T>();
    if (!made) detail::raise(made.error());
    return std::move(*made);
  }
  /// As `as`, without an exception.
  template <message T>
  [[nodiscard]] result<decoded<T>, error> try_as() const {
    detail::failed why;
    decoded<T> made;
    if (is_of<T>(why)) read_into(made, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// The message as a region of its own, which may grow. The channel must have regions of this type.
  template <region_message T>
  [[nodiscard]] region<T> as_region() const {
    auto made = try_as_region<T>();
    if (!made) detail::raise(made.error());
    return std::move(*made);
  }
  /// As `as_region`, without an exception.
  template <region_message T>
  [[nodiscard]] result<region<T>, error> try_as_region() const {
    detail::failed why;
    if (!is_of<T>(why)) return failure{*std::move(why)};
    if (!is_region()) return failure{malformed<T>("it is no region")};
    auto made = region<T>::adopt(data());
    if (!made) return failure{malformed<T>(made.error().message())};
    return std::move(*made);
  }

 private:
  friend class cursor;
  friend class reader;
  message_view(const record::channel& of_channel, const situ_record_message& raw) noexcept
      : channel_(&of_channel), raw_(raw) {}

  static time of(std::uint64_t nanoseconds) noexcept {
    return time(std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds)));
  }
  [[nodiscard]] bool is_region() const noexcept { return channel_->message_encoding == "situ-region"; }

  template <message T>
  [[nodiscard]] error malformed(const std::string& reason) const {
    return {errc::malformed, "message " + std::to_string(raw_.sequence) + " of " + channel_->topic +
                                 " is not a valid " + std::string(T::situ_name) + ": " + reason};
  }

  /// Whether the channel has this type. Regions may have other versions of it.
  template <message T>
  bool is_of(detail::failed& why) const {
    const bool has_type =
        channel_->type_name == T::situ_name && (is_region() || channel_->schema_hash == T::schema_hash);
    if (has_type) return true;
    const bool is_other_schema = channel_->type_name == T::situ_name && channel_->problem.empty();
    why.emplace(errc::type, "the messages of " + channel_->topic + " are of type " +
                                (channel_->type_name.empty() ? "no known type" : channel_->type_name) +
                                (is_other_schema ? " with another schema" : "") + ", not " +
                                std::string(T::situ_name) +
                                (channel_->problem.empty() ? "" : ": " + channel_->problem));
    return false;
  }

  template <message T>
  void read_into(decoded<T>& made, detail::failed& why) const {
    auto& [value, body] = *made.content_;
    if (is_region()) {
      // An image is read where its numbers are aligned; in a file it may begin anywhere.
      std::vector<granule> aligned((raw_.size + sizeof(granule) - 1) / sizeof(granule));
      if (raw_.size > 0) std::memcpy(aligned.data(), raw_.data, raw_.size);
      const auto* const first = reinterpret_cast<const std::byte*>(aligned.data());
      std::string reason;
      if (!detail::read_region({first, raw_.size}, value, reason)) why.emplace(malformed<T>(reason));
    } else if (channel_->message_encoding != "cdr") {
      why.emplace(malformed<T>("its encoding " + channel_->message_encoding + " is not cdr"));
    } else if (auto done = decode(value, data(), body); !done) {
      why.emplace(malformed<T>(done.error().message()));
    }
  }

  struct alignas(16) granule {
    std::byte bytes[16];
  };

  const record::channel* channel_;
  situ_record_message raw_;
};

/// Messages in the order of their log times. Only one thread may use it at a time.
class cursor {
 public:
  /// The next message, or nothing at the end. After an exception the next call goes on behind the part that
  /// cannot be read.
  [[nodiscard]] std::optional<message_view> next() {
    auto found = try_next();
    if (!found) detail::raise(found.error());
    return *found;
  }
  /// As `next`, without an exception.
  [[nodiscard]] result<std::optional<message_view>, error> try_next() {
    situ_error raw;
    situ_record_message message{};
    detail::failed why;
    const situ_status status = situ_record_cursor_next(handle_.get(), &message, &raw);
    detail::succeeded(status, raw, why);
    std::optional<message_view> found;
    if (status == SITU_OK) found = message_view((*channels_)[message.channel], message);
    return detail::result_of(std::move(found), std::move(why));
  }

  /// For a loop over the messages that are left.
  class iterator {
   public:
    using value_type = message_view;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    explicit iterator(cursor& of) : cursor_(&of), present_(of.next()) {}
    const message_view& operator*() const noexcept { return *present_; }
    const message_view* operator->() const noexcept { return &*present_; }
    iterator& operator++() {
      present_ = cursor_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept { return !it.present_; }

   private:
    cursor* cursor_ = nullptr;
    std::optional<message_view> present_;
  };
  [[nodiscard]] iterator begin() { return iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

 private:
  friend class reader;
  struct destroyer {
    void operator()(situ_record_cursor* handle) const noexcept { situ_record_cursor_destroy(handle); }
  };
  std::unique_ptr<situ_record_cursor, destroyer> handle_;
  std::shared_ptr<const std::vector<channel>> channels_;
};

/// An open file, also one that was not finished. All threads may use it at once.
class reader {
 public:
  explicit reader(const std::string& path) {
    detail::failed why;
    open(path, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<reader, error> try_open(const std::string& path) {
    detail::failed why;
    reader made;
    made.open(path, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// The channels: the topics with their types, one for each publisher.
  [[nodiscard]] const std::vector<channel>& channels() const noexcept { return *channels_; }
  /// What the messages have in common: `ros2`, or nothing.
  [[nodiscard]] std::string_view profile() const noexcept { return summary_.profile; }
  /// The library that wrote the file.
  [[nodiscard]] std::string_view library() const noexcept { return summary_.library; }
  /// The size of the file in bytes.
  [[nodiscard]] std::uint64_t size() const noexcept { return summary_.size; }
  /// How many messages it has.
  [[nodiscard]] std::uint64_t message_count() const noexcept { return summary_.messages; }
  /// The log time of the first message, and of the last one.
  [[nodiscard]] time start_time() const noexcept { return message_view::of(summary_.start_time); }
  [[nodiscard]] time end_time() const noexcept { return message_view::of(summary_.end_time); }
  /// Whether it ends with a summary. Otherwise it was not finished, and is read as far as it goes.
  [[nodiscard]] bool is_complete() const noexcept { return summary_.is_complete != 0; }
  /// Parts that cannot be read.
  [[nodiscard]] std::vector<std::string> problems() const {
    std::vector<std::string> found;
    for (std::size_t index = 0; index < summary_.problems; ++index) {
      found.emplace_back(situ_record_reader_problem(handle_.get(), index));
    }
    return found;
  }

  /// The messages that a filter wants. They may outlive the reader.
  [[nodiscard]] cursor messages(const filter& wanted = {}) const {
    auto made = try_messages(wanted);
    if (!made) detail::raise(made.error());
    return std::move(*made);
  }
  /// As `messages`, without an exception.
  [[nodiscard]] result<cursor, error> try_messages(const filter& wanted = {}) const {
    situ_error raw;
    detail::failed why;
    std::vector<const char*> topics;
    topics.reserve(wanted.topics.size());
    for (const std::string& topic : wanted.topics) topics.push_back(topic.c_str());
    situ_record_filter of_c{topics.empty() ? nullptr : topics.data(), topics.size(),
                            wanted.start ? nanoseconds(*wanted.start) : 0,
                            wanted.end ? nanoseconds(*wanted.end) : 0};
    // An end of 0 is no limit in C. No message is before 1970, so that none is before such an end.
    if (wanted.end && of_c.end_time == 0) of_c.start_time = of_c.end_time = UINT64_MAX;
    cursor made;
    situ_record_cursor* handle = nullptr;
    if (detail::succeeded(situ_record_cursor_create(handle_.get(), &of_c, &handle, &raw), raw, why)) {
      made.handle_.reset(handle);
      made.channels_ = channels_;
    }
    return detail::result_of(std::move(made), std::move(why));
  }

 private:
  struct closer {
    void operator()(situ_record_reader* handle) const noexcept { situ_record_reader_close(handle); }
  };
  reader() = default;

  /// Times before 1970 are 0: no file has any.
  static std::uint64_t nanoseconds(time of) noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(of.time_since_epoch().count(), 0));
  }
  static std::string text(const char* raw) { return raw == nullptr ? std::string() : std::string(raw); }

  void open(const std::string& path, detail::failed& why) {
    situ_error raw;
    situ_record_reader* opened = nullptr;
    if (!detail::succeeded(situ_record_reader_open(path.c_str(), &opened, &raw), raw, why)) return;
    handle_.reset(opened);
    summary_ = situ_record_reader_summary(opened);
    std::vector<channel> found;
    for (std::size_t index = 0; index < summary_.channels; ++index) {
      situ_record_channel of_c{};
      const situ_status status = situ_record_reader_channel(opened, index, &of_c, &raw);
      if (!detail::succeeded(status, raw, why)) return;
      found.push_back({of_c.topic, of_c.type_name, of_c.message_encoding, text(of_c.schema),
                       text(of_c.problem), of_c.schema_hash, of_c.publisher, of_c.node, of_c.messages,
                       of_c.encoding});
    }
    channels_ = std::make_shared<const std::vector<channel>>(std::move(found));
  }

  std::unique_ptr<situ_record_reader, closer> handle_;
  situ_record_summary summary_{};
  std::shared_ptr<const std::vector<channel>> channels_;
};

}  // namespace situ::record
