// Regions on topics: a message that grows while it is built, in the slot in which it will be read. What
// `node.publisher<T>()` and `node.subscriber<T>()` are for a T with storage in regions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/bus/loan.hpp"
#include "situ/bus/publisher.hpp"
#include "situ/bus/sample.hpp"
#include "situ/bus/subscriber.hpp"
#include "situ/region.hpp"

namespace situ {

/// A region under construction, in the memory where it will be read. It is published, or returned on
/// destruction. Belongs to the thread of its publisher, which must outlive it.
///
/// `loan->skills.emplace_back(1054, 3)` works in the slot that was lent, which grows in its place: references
/// into the region stay good, as in a region in a window of its own, up to the room that it was lent with.
/// `try_` operations take what memory the slot has now, and say that there is no room instead.
template <region_message T>
class loan<T> : region_detail::growth {
 public:
  loan(loan&& other) noexcept
      : growth{&widen},
        publisher_(other.publisher_),
        raw_(std::move(other.raw_)),
        region_(std::move(other.region_)) {
    other.region_.reset();
    grows();
  }
  loan& operator=(loan&& other) noexcept {
    publisher_ = other.publisher_;
    raw_ = std::move(other.raw_);
    region_ = std::move(other.region_);
    other.region_.reset();
    grows();
    return *this;
  }

  [[nodiscard]] T& operator*() noexcept { return **region_; }
  [[nodiscard]] T* operator->() noexcept { return region_->get(); }
  [[nodiscard]] const T& operator*() const noexcept { return **region_; }
  [[nodiscard]] const T* operator->() const noexcept { return region_->get(); }
  /// False once it is published or moved from.
  explicit operator bool() const noexcept { return raw_.body().data() != nullptr; }

  /// Does something to the value that consists of `try_` operations, `change([](Character& c) { return
  /// c.path.try_resize(10000); })`: while it returns false or null for want of memory, the slot grows, and it
  /// is done again. Other operations need no help: they grow the slot by themselves.
  template <class Operation>
  auto change(const Operation& operation) {
    using outcome = std::invoke_result_t<const Operation&, T&>;
    if constexpr (std::is_convertible_v<outcome, bool>) {
      for (;;) {
        region_detail::own_state(header())->wanted = 0;
        auto done = operation(**this);
        if (done || !grow()) return done;
      }
    } else {
      return operation(**this);
    }
  }
  /// Finds memory for an image of so many bytes now, instead of when it is needed. False if there is none, or
  /// the loan has no such room.
  [[nodiscard]] bool reserve(std::size_t bytes) {
    if (bytes <= region_->capacity()) return true;
    return bytes <= region_detail::max_size && grow_to(room_for(bytes));
  }

  /// The live image.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return region_->bytes(); }
  /// The canonical image: equal values have equal bytes.
  [[nodiscard]] std::vector<std::byte> canonical() const { return region_->canonical(); }
  /// Makes the live image as small as the canonical one: see `region::compact`. References into the region
  /// end.
  void compact() {
    if (!try_compact()) detail::raise(region_error(region_fault::full, region_->capacity()));
  }
  /// The same; false, and unchanged, where the slot has no room for it.
  [[nodiscard]] bool try_compact() {
    const bool done = region_->try_compact();
    grows();
    return done;
  }

  /// Closes the gaps between blocks in the slot: see `region::compact_in_place`. References into the region
  /// end. If this process dies meanwhile, nobody sees the slot: it was never published.
  void compact_in_place() noexcept { region_->compact_in_place(); }

  /// Publishes the region as it stands, its live image, and gives its number in the topic's order. After an
  /// exception it is still lent.
  std::uint64_t publish() {
    detail::failed why;
    const std::uint64_t sequence = publish(why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  [[nodiscard]] result<std::uint64_t, error> try_publish() {
    detail::failed why;
    std::uint64_t sequence = publish(why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

 private:
  template <message>
  friend class publisher;
  explicit loan(publisher<T>& of) noexcept : growth{&widen}, publisher_(&of) {}

  [[nodiscard]] region_detail::header* header() noexcept {
    return reinterpret_cast<region_detail::header*>(const_cast<std::byte*>(region_->bytes().data()));
  }
  /// From now on, what finds no room in the region gets more memory.
  [[gnu::noinline]] void grows() noexcept {  // GCC 12 would warn of what is not there
    if (region_) region_detail::own_state(header())->growth = this;
  }
  static bool widen(region_detail::growth* self) { return static_cast<loan*>(self)->grow(); }

  /// What an image of so many bytes needs, together with what is known of its memory.
  static std::size_t room_for(std::size_t bytes) noexcept {
    // The bitmap has bits for its own memory, too.
    return bytes + region_detail::state_size(bytes + bytes / 64) + region_detail::granule * 2;
  }
  /// Gets memory for what found none, and as much again as there was, or what there is of that. False if it
  /// was not for want of room that something failed, if no region can be so large, or if there is no memory.
  [[nodiscard]] bool grow() {
    const std::size_t wanted = region_detail::own_state(header())->wanted;
    const std::size_t needed = room_for(region_->size() + region_detail::in_granules(wanted));
    const std::size_t twice = std::min<std::size_t>(raw_.body().size() * 2, region_detail::max_size);
    if (wanted == 0) return false;
    return (twice > needed && grow_to(twice)) || grow_to(needed);
  }
  [[nodiscard]] bool grow_to(std::size_t room) {
    detail::failed why;
    return room <= region_detail::max_size && room > raw_.body().size() && raw_.grow(room, why) &&
           region_->widen(raw_.body());
  }
  std::uint64_t publish(detail::failed& why) {
    region_->trim();
    const std::size_t size = region_->size();
    raw_.shrink(size);
    const std::uint64_t sequence = raw_.publish(why);
    if (!why) {
      region_.reset();
      publisher_->learn(room_for(size) + size / 4);
    }
    return sequence;
  }

  publisher<T>* publisher_;
  detail::raw_loan raw_;
  std::optional<region<T>> region_;
};

/// A region that was taken: checked once, read-only, and unchanged until the sample is destroyed. May outlive
/// its subscriber, move to other threads, and be read by several at once.
///
/// It was checked once, and its links are followed without looking again. So it lies in memory that nobody
/// changes: what others than this user may write to was copied to private memory before it was checked
/// (`situ::trust`, of the subscriber). Only a hostile process of the same user can change what is read in
/// place; subscribe with `situ::trust::nobody` where there may be one.
template <region_message T>
class sample<T> {
 public:
  sample(sample&& other) noexcept { take(other); }
  sample& operator=(sample&& other) noexcept {
    if (this != &other) {
      if (raw_.head != nullptr) situ_sample_release(&raw_);
      take(other);
    }
    return *this;
  }
  ~sample() {
    if (raw_.head != nullptr) situ_sample_release(&raw_);
  }

  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] const T* operator->() const noexcept { return value_; }
  /// The image.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return image_; }
  /// A region of this process, to be kept and edited: a copy, checked once more, of the bytes as they are
  /// now.
  [[nodiscard]] result<region<T>, region_invalid> copy(const region_options& options = {}) const {
    situ_count_copy(image_.size());
    std::vector<granule> own((image_.size() + sizeof(granule) - 1) / sizeof(granule));
    std::memcpy(own.data(), image_.data(), image_.size());
    return region<T>::adopt(std::as_bytes(std::span(own)), options);
  }

  /// The message's number in the topic's order, from 0.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return raw_.sequence; }
  /// When it was published; the clock's epoch if its publisher leaves out time stamps.
  [[nodiscard]] std::chrono::steady_clock::time_point published_at() const noexcept {
    using clock = std::chrono::steady_clock;
    return clock::time_point(std::chrono::duration_cast<clock::duration>(
        std::chrono::nanoseconds(static_cast<std::int64_t>(raw_.published_at_ns))));
  }
  /// The number of the node that published it.
  [[nodiscard]] std::uint64_t publisher_id() const noexcept { return raw_.publisher; }
  /// Whether it had to be stored in a region of this process, or its publisher is not trusted
  /// (`situ::trust`); otherwise it is read where it was written.
  [[nodiscard]] bool is_copy() const noexcept { return own_ != nullptr || situ_sample_is_copy(&raw_) != 0; }

 private:
  template <message>
  friend class subscriber;
  struct alignas(region_detail::granule) granule {
    std::byte bytes[region_detail::granule];
  };

  sample() noexcept { forget(); }
  void forget() noexcept {
    raw_.head = nullptr;
    raw_.state_ = 0;
  }
  void take(sample& other) noexcept {
    value_ = std::exchange(other.value_, nullptr);
    image_ = std::exchange(other.image_, {});
    own_ = std::move(other.own_);
    if (other.raw_.head == nullptr) return forget();
    raw_ = other.raw_;
    other.forget();
  }

  situ_sample raw_;
  std::span<const std::byte> image_;
  const T* value_ = nullptr;
  std::unique_ptr<region<T>> own_;
};

/// Publishes regions of type T. May move from thread to thread while nothing is lent, but is used by one at a
/// time.
template <region_message T>
class publisher<T> {
 public:
  /// Joins a topic.
  publisher(const node& on, const std::string& topic, const publisher_qos& qos = {},
            const placement& where = {}) {
    detail::failed why;
    create(on, topic, qos, where, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<publisher, error> try_create(const node& on, const std::string& topic,
                                                           const publisher_qos& qos = {},
                                                           const placement& where = {}) {
    detail::failed why;
    publisher made;
    made.create(on, topic, qos, where, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Lends a region that holds a new value, with memory for what the last messages needed, at least for
  /// `bytes`. It can grow to eight times as much, at least to 256 MiB.
  [[nodiscard]] situ::loan<T> loan(std::size_t bytes = 0) {
    detail::failed why;
    situ::loan<T> lent(*this);
    lend(lent, bytes, why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<situ::loan<T>, error> try_loan(std::size_t bytes = 0) {
    detail::failed why;
    situ::loan<T> lent(*this);
    lend(lent, bytes, why);
    return detail::result_of(std::move(lent), std::move(why));
  }
  /// Lends a region that goes on from a message that was taken, from whatever topic: a copy of its image,
  /// which is checked where it lies then.
  [[nodiscard]] situ::loan<T> edit(const sample<T>& from) {
    detail::failed why;
    situ::loan<T> lent(*this);
    edit(lent, from, why);
    detail::raise_if(why);
    return lent;
  }
  /// As `edit`, without an exception.
  [[nodiscard]] result<situ::loan<T>, error> try_edit(const sample<T>& from) {
    detail::failed why;
    situ::loan<T> lent(*this);
    edit(lent, from, why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Publishes the value of a message on the heap, and gives its number in the topic's order.
  std::uint64_t publish(const rebind<T, heap>& value) {
    situ::loan<T> lent = loan();
    detail::failed why;
    const bool stored = lent.change([&](T& to) {
      auto done = convert(value, to);
      if (done) return true;
      if (done.error().bound != convert_error::no_room) {
        why.emplace(errc::invalid_argument, std::string(T::situ_name) + ": " + done.error().message());
      }
      return why.has_value();
    });
    if (!stored)
      why.emplace(errc::no_memory, std::string(T::situ_name) + " is too large for the memory there is");
    detail::raise_if(why);
    situ_count_copy(lent.bytes().size());
    return lent.publish();
  }

  /// Gives the memory of free slots back to the system, and says how many bytes that are; see
  /// situ_publisher_trim.
  std::uint64_t trim() noexcept { return situ_publisher_trim(handle_.get()); }

  /// Its memory, its subscribers, and the deadlines it missed.
  [[nodiscard]] publisher_statistics statistics() const noexcept {
    return situ_publisher_get_statistics(handle_.get());
  }
  /// What C knows it by.
  [[nodiscard]] situ_publisher* handle() const noexcept { return handle_.get(); }

 private:
  friend class situ::loan<T>;
  /// Two pages and what is known of their memory: what is touched, not what could be.
  static constexpr std::size_t least = 8192;

  publisher() = default;
  void create(const node& on, const std::string& topic, const publisher_qos& qos, const placement& where,
              detail::failed& why) {
    situ_error raw;
    situ_publisher* made = nullptr;
    const situ_publisher_qos terms = detail::to_c(qos);
    const situ_placement place = detail::to_c(where);
    auto type = detail::type_description::of_region<T>(region_detail::layout_hash<T>());
    const situ_status status =
        situ_publisher_create_in(on.handle(), topic.c_str(), type.get(), &terms, &place, &made, &raw);
    if (detail::succeeded(status, raw, why)) handle_.reset(made);
  }
  void lend(situ::loan<T>& lent, std::size_t bytes, detail::failed& why) {
    if (bytes > region_detail::max_size) {
      why.emplace(errc::no_memory,
                  std::string(T::situ_name) + ": no region can have " + std::to_string(bytes) + " bytes");
      return;
    }
    const std::size_t first = region_detail::least_size<T>();
    const std::size_t room = situ::loan<T>::room_for(std::max(bytes, first));
    if (lend_memory(lent, std::max({room, hint_, least}), why)) {
      lent.region_.emplace(lent.raw_.body());
      lent.grows();
    }
  }
  bool lend_memory(situ::loan<T>& lent, std::size_t bytes, detail::failed& why) {
    constexpr std::size_t most = region_detail::max_size + std::size_t{region_detail::max_size} / 64;
    const std::size_t room = std::clamp(bytes * 8, std::size_t{SITU_GROWING_ROOM}, most);
    return lent.raw_.lend_growing(handle_.get(), bytes, room, why);
  }
  void edit(situ::loan<T>& lent, const sample<T>& from, detail::failed& why) {
    region_invalid problem{};
    if (edit_image(lent, from.bytes(), problem, why) || why) return;
    if (problem.problem == region_problem::other_version) {
      // Of a newer version: what this program does not know of it is lost.
      auto known = from.copy();
      lent.raw_ = {};
      if (known && (edit_image(lent, known->bytes(), problem, why) || why)) return;
      if (!known) problem = std::move(known.error());
    }
    why.emplace(errc::malformed, "the message was changed after it was published: " + problem.message());
  }
  bool edit_image(situ::loan<T>& lent, std::span<const std::byte> image, region_invalid& problem,
                  detail::failed& why) {
    const std::size_t room = std::max(situ::loan<T>::room_for(image.size()), hint_);
    if (!lend_memory(lent, room, why)) return false;
    std::memcpy(lent.raw_.body().data(), image.data(), image.size());
    situ_count_copy(image.size());
    auto adopted = region<T>::adopt_in_place(lent.raw_.body(), for_large_);
    if (!adopted) {
      problem = std::move(adopted.error());
      return false;
    }
    lent.region_.emplace(std::move(*adopted));
    lent.grows();
    return true;
  }
  /// Notes how much an image needed: at once if it is more than before, else little by little.
  void learn(std::size_t needed) noexcept { hint_ = needed > hint_ ? needed : hint_ - (hint_ - needed) / 8; }

  detail::owner<situ_publisher> handle_;
  std::size_t hint_ = least;
  /// The bitmap of the last large message that was edited: its memory is used again.
  std::vector<std::uint64_t> for_large_;
};

/// Subscribes to regions of type T. May move from thread to thread, but is used by one at a time; its samples
/// may go to others.
template <region_message T>
class subscriber<T> : public any_subscriber {
 public:
  /// Joins a topic.
  subscriber(const node& on, const std::string& topic, const subscriber_qos& qos = {},
             const placement& where = {}) {
    detail::failed why;
    join(on, topic, qos, where, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<subscriber, error> try_create(const node& on, const std::string& topic,
                                                            const subscriber_qos& qos = {},
                                                            const placement& where = {}) {
    detail::failed why;
    subscriber made;
    made.join(on, topic, qos, where, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Takes the next message, if there is one. Never waits. A region is checked, and read in place; what is
  /// serialized or flat is stored in a region of this process. A message that cannot be read is passed over
  /// by the exception.
  [[nodiscard]] std::optional<sample<T>> take() {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why);
    detail::raise_if(why);
    return taken;
  }
  /// As `take`, without an exception.
  [[nodiscard]] result<std::optional<sample<T>>, error> try_take() {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why);
    return detail::result_of(std::move(taken), std::move(why));
  }

  /// Waits for the next message and takes it; nothing if the time is over.
  [[nodiscard]] std::optional<sample<T>> receive(std::chrono::nanoseconds timeout = forever) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    for (auto left = timeout;;) {
      std::optional<sample<T>> taken = take();
      if (taken || !wait(left)) return taken;
      if (timeout != forever) left = timeout - (clock::now() - start);
    }
  }

 private:
  subscriber() = default;
  void join(const node& on, const std::string& topic, const subscriber_qos& qos, const placement& where,
            detail::failed& why) {
    create(on, topic, qos, where, detail::type_description::of_region<T>(region_detail::layout_hash<T>()),
           why);
  }

  void take_into(std::optional<sample<T>>& taken, detail::failed& why) {
    situ_error raw;
    sample<T> next;
    const situ_status status = situ_subscriber_take(handle(), &next.raw_, &raw);
    if (status != SITU_OK || !open(next, why)) {
      detail::succeeded(status, raw, why);
      return;
    }
    taken.emplace(std::move(next));
  }

  bool open(sample<T>& taken, detail::failed& why) {
    const std::span bytes(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    if (taken.raw_.encoding != SITU_REGION) return store(taken, bytes, why);
    region_invalid problem{};
    // The bitmap of large messages keeps its memory from one to the next.
    region_detail::check_bitmap bits(for_large_);
    region_detail::image_versions versions;
    if (!region_detail::check_image<T>(bytes, bits, versions, problem)) {
      return refuse(taken, problem.message(), why);
    }
    if (versions.fewer) return renew(taken, bytes, why);
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + offsetof(region_detail::header, size), sizeof(size));
    taken.image_ = bytes.first(std::min<std::size_t>(size, bytes.size()));
    taken.value_ = reinterpret_cast<const T*>(bytes.data() + region_detail::root_offset);
    return true;
  }

  /// Of an older version: the members that it has not have their defaults in a copy.
  bool renew(sample<T>& taken, std::span<const std::byte> bytes, detail::failed& why) {
    taken.image_ = bytes;
    auto own = taken.copy();
    if (!own) return refuse(taken, own.error().message(), why);
    keep(taken, std::make_unique<region<T>>(std::move(*own)));
    return true;
  }
  static void keep(sample<T>& taken, std::unique_ptr<region<T>> own) noexcept {
    taken.own_ = std::move(own);
    taken.image_ = taken.own_->bytes();
    taken.value_ = taken.own_->get();
  }

  /// What is serialized or flat goes through the heap.
  bool store(sample<T>& taken, std::span<const std::byte> bytes, detail::failed& why) {
    rebind<T, heap> value;
    if (taken.raw_.encoding != SITU_FLAT) {
      if (auto done = decode(value, bytes); !done) return refuse(taken, done.error().message(), why);
    } else if constexpr (requires { typename rebind<T, flat>; }) {
      const std::span head(static_cast<const std::byte*>(taken.raw_.head), taken.raw_.head_size);
      auto found = validate_bytes<rebind<T, flat>>(head, bytes.size());
      if (!found) return refuse(taken, found.error().message(), why);
      if (auto done = convert(**found, value, bytes); !done)
        return refuse(taken, done.error().message(), why);
    } else {
      return refuse(taken, "is flat, which the type has no form of", why);
    }
    auto own = std::make_unique<region<T>>();
    if (auto done = convert(value, **own); !done) return refuse(taken, done.error().message(), why);
    situ_count_copy(bytes.size());
    keep(taken, std::move(own));
    return true;
  }

  static bool refuse(const sample<T>& taken, const std::string& reason, detail::failed& why) {
    why.emplace(errc::malformed, "message " + std::to_string(taken.raw_.sequence) + " is not a valid " +
                                     std::string(T::situ_name) + ": " + reason);
    return false;
  }

  std::vector<std::uint64_t> for_large_;
};

namespace detail {

template <message T>
bool read_region(std::span<const std::byte> image, T& to, std::string& reason) {
  using form = rebind<T, in_region>;
  if constexpr (requires { form::template situ_region_parts<region_detail::member>(); }) {
    auto found = view_region<form>(image);
    if (!found && found.error().problem == region_problem::other_version) {
      auto own = region<form>::adopt(image);
      const auto done = own ? convert(**own, to) : result<void, convert_error>();
      reason = !own ? own.error().message() : !done ? done.error().message() : std::string();
      return reason.empty();
    }
    if (!found) {
      reason = found.error().message();
      return false;
    }
    if (auto done = convert(**found, to); !done) {
      reason = done.error().message();
      return false;
    }
    return true;
  } else {
    reason = "is a region, which the type has no form of";
    return false;
  }
}

}  // namespace detail
}  // namespace situ
