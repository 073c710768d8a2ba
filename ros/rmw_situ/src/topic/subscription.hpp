// A subscription.
#pragma once

#include <rmw/types.h>
#include <situ.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "context.hpp"
#include "filter/content_filter.hpp"
#include "support/check.hpp"
#include "support/placement.hpp"
#include "topic/event.hpp"
#include "types/message_type.hpp"
#include "wait/listener.hpp"
#include "wait/waitable.hpp"

namespace rmw_situ {

// A message that was taken, and is given back at its end.
class Sample {
 public:
  Sample() { sample_.state_ = 0; }
  Sample(Sample&& other) noexcept : sample_(other.sample_) { other.sample_.state_ = 0; }
  Sample& operator=(Sample&& other) noexcept {
    std::swap(sample_, other.sample_);
    return *this;
  }
  ~Sample() { situ_sample_release(&sample_); }

  situ_sample* operator->() { return &sample_; }
  situ_sample* get() { return &sample_; }
  std::span<const std::byte> body() const {
    return {static_cast<const std::byte*>(sample_.body), sample_.body_size};
  }

 private:
  situ_sample sample_ = {};
};

class Subscription final : public Waitable, public Listened {
 public:
  Subscription(rmw_context_impl_s& context, const MessageType& type, SubscriberHandle handle,
               rmw_qos_profile_t qos, bool ignores_own);
  ~Subscription() override;

  // Takes the next message into an initialized one.
  rmw_ret_t take(void* message, bool* taken, rmw_message_info_t* info);
  // Takes the next message as CDR.
  rmw_ret_t take_serialized(rmw_serialized_message_t* message, bool* taken, rmw_message_info_t* info);
  // Takes the next message where it lies, until it is given back.
  rmw_ret_t take_loaned(void** message, bool* taken, rmw_message_info_t* info);
  rmw_ret_t give_back(void* message);

  rmw_ret_t set_filter(const rmw_subscription_content_filter_options_t& options);
  rmw_ret_t get_filter(const rcutils_allocator_t& allocator,
                       rmw_subscription_content_filter_options_t* options);
  bool has_filter();

  rmw_ret_t set_callback(rmw_event_callback_t callback, const void* user_data);

  situ_status attach(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  bool has_kept() override;
  bool confirm() override;
  situ_status listen(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  size_t count_new() override;
  size_t count_unread() override;

  const MessageType& type;
  const rosidl_message_type_support_t* type_support = nullptr;
  // Copies messages from their memory domain, if that is not the host.
  StreamHandle stream;
  const rmw_qos_profile_t qos;
  const SubscriberHandle handle;
  Events events;

 private:
  // Takes the next message that passes the filter: false if there is none. The mutex is held.
  rmw_ret_t next(Sample& sample, bool& found);
  rmw_ret_t passes(Sample& sample, bool& does);
  // Whether the bytes of a message lie in another memory domain than the host's.
  bool is_on_device(Sample& sample) const;
  // Copies them to the host.
  bool fetch(Sample& sample, std::span<std::byte> to) const;
  // Reads a message into an initialized one.
  rmw_ret_t read(Sample& sample, void* message) const;
  void describe(Sample& sample, rmw_message_info_t* info);

  rmw_context_impl_s& context_;
  const bool ignores_own_;
  // Protects the handle and all below.
  std::mutex mutex_;
  uint64_t received_ = 0;
  // The number of the next message that the callback was not told of.
  uint64_t told_ = 0;
  // A message that was taken to see whether it passes, with the result.
  std::optional<Sample> kept_;
  std::unique_ptr<ContentFilter> filter_;
  std::string expression_;
  std::vector<std::string> parameters_;

  // A message that the user has, and where it comes from. A plain message needs no shadow; if it came
  // serialized, it was read into memory of its own.
  struct Loaned {
    void* shown = nullptr;
    Sample sample;
    std::unique_ptr<Shadow> shadow;
    std::unique_ptr<std::max_align_t[]> memory;
  };
  // Makes it show its sample. False with rmw's error state set.
  bool show(Loaned& loaned);
  // A few at a time, so that looking for one is fast, and a loan allocates nothing.
  std::vector<Loaned> loaned_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
};

}  // namespace rmw_situ
