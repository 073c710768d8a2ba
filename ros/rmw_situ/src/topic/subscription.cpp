// Taking: a message is copied once into the user's, or shown where it lies.
#include "topic/subscription.hpp"

#include <rcutils/strdup.h>
#include <rmw/rmw.h>
#include <rmw/subscription_content_filter_options.h>

#include <algorithm>
#include <cstring>

#include "types/device_bytes.hpp"
#include "types/transfer.hpp"

namespace rmw_situ {
namespace {

// The body of a sample on a device.
class SampleBytes final : public DeviceBytes {
 public:
  SampleBytes(const situ_sample& sample, const situ_stream* stream) : sample_(sample), stream_(stream) {
    situ_span span;
    if (situ_sample_span(&sample, &span, nullptr) == SITU_OK) address_ = span.address;
  }

  size_t size() const override { return sample_.body_size; }
  uint64_t address() const override { return address_; }
  bool read(size_t offset, std::byte* to, size_t count) override {
    situ_error error;
    if (situ_stream_read(stream_, &sample_, offset, to, count, &error) == SITU_OK &&
        situ_stream_synchronize(stream_, SITU_FOREVER, &error) == SITU_OK) {
      return true;
    }
    failed("cannot copy to the host", "a message", error);
    return false;
  }

 private:
  const situ_sample& sample_;
  const situ_stream* const stream_;
  uint64_t address_ = 0;
};

}  // namespace

Subscription::Subscription(rmw_context_impl_s& context, const MessageType& type_, SubscriberHandle handle_,
                           rmw_qos_profile_t qos_, bool ignores_own)
    : type(type_),
      qos(qos_),
      handle(std::move(handle_)),
      events([this](uint32_t kind, situ_event** event,
                    situ_error* error) { return situ_subscriber_event(handle.get(), kind, event, error); },
             false, context),
      context_(context),
      ignores_own_(ignores_own) {}

Subscription::~Subscription() {
  context_.listener.remove(*this);
  detach();
}

rmw_ret_t Subscription::next(Sample& sample, bool& found) {
  if (kept_) {
    sample = std::move(*kept_);
    kept_.reset();
    found = true;
    return RMW_RET_OK;
  }
  for (;;) {
    situ_error error;
    const situ_status status = stream
                                   ? situ_subscriber_take_on(handle.get(), stream.get(), sample.get(), &error)
                                   : situ_subscriber_take(handle.get(), sample.get(), &error);
    if (status < 0) return failed("cannot take a message of type", type.ros_name().c_str(), error);
    found = status == SITU_OK;
    if (!found) return RMW_RET_OK;
    bool does = true;
    if (ignores_own_ || filter_) {
      const rmw_ret_t ret = passes(sample, does);
      if (ret != RMW_RET_OK) return ret;
    }
    if (does) {
      ++received_;
      return RMW_RET_OK;
    }
    situ_sample_release(sample.get());
  }
}

rmw_ret_t Subscription::passes(Sample& sample, bool& does) {
  does = !(ignores_own_ && context_.has_node(sample->publisher));
  if (!does || !filter_) return RMW_RET_OK;
  std::vector<std::max_align_t> memory(type.size() / sizeof(std::max_align_t) + 1);
  if (!type.init(memory.data())) return RMW_RET_BAD_ALLOC;
  const rmw_ret_t ret = read(sample, memory.data());
  if (ret == RMW_RET_OK) does = filter_->passes(memory.data());
  type.fini(memory.data());
  return ret;
}

bool Subscription::is_on_device(Sample& sample) const { return stream && sample->body_size != 0; }

bool Subscription::fetch(Sample& sample, std::span<std::byte> to) const {
  return SampleBytes(*sample.get(), stream.get()).read(0, to.data(), to.size());
}

rmw_ret_t Subscription::read(Sample& sample, void* message) const {
  if (!is_on_device(sample)) return read_message(type, *sample.get(), message);
  std::vector<std::byte> bytes(sample->body_size);
  if (!fetch(sample, bytes)) return RMW_RET_ERROR;
  situ_sample here = *sample.get();
  here.body = bytes.data();
  return read_message(type, here, message);
}

void Subscription::describe(Sample& sample, rmw_message_info_t* info) {
  if (info == nullptr) return;
  *info = rmw_get_zero_initialized_message_info();
  const int64_t now = system_now_ns();
  info->received_timestamp = now;
  info->source_timestamp = to_system_time(sample->published_at_ns, now);
  info->publication_sequence_number = situ_sample_publisher_sequence(sample.get());
  info->reception_sequence_number = received_;
  info->publisher_gid.implementation_identifier = identifier;
  situ_sample_publisher_id(sample.get(), info->publisher_gid.data);
  info->from_intra_process = false;
}

rmw_ret_t Subscription::take(void* message, bool* taken, rmw_message_info_t* info) {
  *taken = false;
  Sample sample;
  {
    const std::lock_guard lock(mutex_);
    bool found;
    rmw_ret_t ret = next(sample, found);
    if (ret != RMW_RET_OK || !found) return ret;
    describe(sample, info);
  }
  const rmw_ret_t ret = read(sample, message);
  *taken = ret == RMW_RET_OK;
  return ret;
}

rmw_ret_t Subscription::take_serialized(rmw_serialized_message_t* message, bool* taken,
                                        rmw_message_info_t* info) {
  *taken = false;
  Sample sample;
  {
    const std::lock_guard lock(mutex_);
    bool found;
    rmw_ret_t ret = next(sample, found);
    if (ret != RMW_RET_OK || !found) return ret;
    describe(sample, info);
  }
  std::span<const std::byte> bytes = sample.body();
  const bool is_flat = type.is_plain() && sample->encoding == SITU_FLAT;
  if (!is_flat && !is_cdr(*sample.get())) return refuse_encoding(type, *sample.get());
  if (is_flat && !type.check_plain({static_cast<const std::byte*>(sample->head), sample->head_size})) {
    return RMW_RET_ERROR;
  }
  const size_t size = is_flat ? type.cdr_size(sample->head) : bytes.size();
  if (message->buffer_capacity < size && rmw_serialized_message_resize(message, size) != RMW_RET_OK) {
    return RMW_RET_BAD_ALLOC;
  }
  if (is_flat) {
    if (!type.write_cdr(sample->head, std::as_writable_bytes(std::span(message->buffer, size)))) {
      return RMW_RET_ERROR;
    }
  } else if (is_on_device(sample)) {
    if (!fetch(sample, std::as_writable_bytes(std::span(message->buffer, size)))) return RMW_RET_ERROR;
  } else if (size != 0) {
    std::memcpy(message->buffer, bytes.data(), size);
  }
  message->buffer_length = size;
  *taken = true;
  return RMW_RET_OK;
}

bool Subscription::show(Loaned& loaned) {
  Sample& sample = loaned.sample;
  if (type.is_plain()) {
    if (sample->encoding == SITU_FLAT) {
      // The memory is mapped read-only.
      loaned.shown = const_cast<void*>(sample->head);
      return type.check_plain({static_cast<const std::byte*>(sample->head), sample->head_size});
    }
    loaned.memory = std::make_unique<std::max_align_t[]>(type.size() / sizeof(std::max_align_t) + 1);
    loaned.shown = loaned.memory.get();
    return type.init(loaned.shown) && read(sample, loaned.shown) == RMW_RET_OK;
  }
  if (!is_cdr(*sample.get())) return refuse_encoding(type, *sample.get()) == RMW_RET_OK;
  if (shadows_.empty()) {
    loaned.shadow = type.make_shadow();
    if (!loaned.shadow) throw std::bad_alloc();
  } else {
    loaned.shadow = std::move(shadows_.back());
    shadows_.pop_back();
  }
  loaned.shown = loaned.shadow->message();
  if (!is_on_device(sample)) return loaned.shadow->show(sample.body());
  SampleBytes bytes(*sample.get(), stream.get());
  return loaned.shadow->show(bytes);
}

rmw_ret_t Subscription::take_loaned(void** message, bool* taken, rmw_message_info_t* info) {
  *taken = false;
  const std::lock_guard lock(mutex_);
  Loaned loaned;
  bool found;
  const rmw_ret_t ret = next(loaned.sample, found);
  if (ret != RMW_RET_OK || !found) return ret;
  describe(loaned.sample, info);
  if (!show(loaned)) return RMW_RET_ERROR;
  *message = loaned.shown;
  loaned_.push_back(std::move(loaned));
  *taken = true;
  return RMW_RET_OK;
}

rmw_ret_t Subscription::give_back(void* message) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(loaned_, message, &Loaned::shown);
  if (found == loaned_.end()) {
    RMW_SET_ERROR_MSG("the message was not lent by this subscription, or was returned already");
    return RMW_RET_ERROR;
  }
  if (found->shadow) {
    found->shadow->clear();
    shadows_.push_back(std::move(found->shadow));
  }
  std::swap(*found, loaned_.back());
  loaned_.pop_back();
  return RMW_RET_OK;
}

rmw_ret_t Subscription::set_filter(const rmw_subscription_content_filter_options_t& options) {
  const std::string expression = options.filter_expression ? options.filter_expression : "";
  std::vector<std::string> parameters;
  for (size_t i = 0; i < options.expression_parameters.size; ++i) {
    parameters.emplace_back(options.expression_parameters.data[i]);
  }
  std::unique_ptr<ContentFilter> filter;
  // An empty expression removes the filter.
  if (!expression.empty()) {
    filter = ContentFilter::make(type_support, expression, parameters);
    if (!filter) return RMW_RET_ERROR;
  }
  const std::lock_guard lock(mutex_);
  filter_ = std::move(filter);
  expression_ = expression;
  parameters_ = std::move(parameters);
  return RMW_RET_OK;
}

rmw_ret_t Subscription::get_filter(const rcutils_allocator_t& allocator,
                                   rmw_subscription_content_filter_options_t* options) {
  const std::lock_guard lock(mutex_);
  if (!filter_) {
    RMW_SET_ERROR_MSG("the subscription has no content filter");
    return RMW_RET_ERROR;
  }
  std::vector<const char*> parameters;
  for (const std::string& parameter : parameters_) parameters.push_back(parameter.c_str());
  return rmw_subscription_content_filter_options_init(expression_.c_str(), parameters.size(),
                                                      parameters.data(), &allocator, options);
}

bool Subscription::has_filter() {
  const std::lock_guard lock(mutex_);
  return filter_ != nullptr;
}

situ_status Subscription::attach(situ_wait_set* set, uint64_t* id, situ_error* error) {
  return situ_wait_set_attach_subscriber(set, handle.get(), id, error);
}

bool Subscription::has_kept() {
  const std::lock_guard lock(mutex_);
  return kept_.has_value();
}

bool Subscription::confirm() {
  const std::lock_guard lock(mutex_);
  if (kept_) return true;
  // Otherwise the next take tells.
  if (!filter_ && !ignores_own_) return true;
  Sample sample;
  bool found = false;
  if (next(sample, found) != RMW_RET_OK) {
    // The message is skipped.
    rmw_reset_error();
    return false;
  }
  if (found) kept_.emplace(std::move(sample));
  return found;
}

rmw_ret_t Subscription::set_callback(rmw_event_callback_t callback, const void* user_data) {
  return context_.listener.set(*this, callback, user_data);
}

situ_status Subscription::listen(situ_wait_set* set, uint64_t* id, situ_error* error) {
  const std::lock_guard lock(mutex_);
  int descriptor;
  const situ_status status = situ_subscriber_fd(handle.get(), &descriptor, error);
  return status == SITU_OK ? situ_wait_set_attach_descriptor(set, descriptor, SITU_READABLE, id, error)
                           : status;
}

size_t Subscription::count_new() {
  const std::lock_guard lock(mutex_);
  situ_subscriber_clear_fd(handle.get());
  const situ_subscriber_statistics statistics = situ_subscriber_get_statistics(handle.get());
  const uint64_t from = std::max(told_, statistics.next);
  if (statistics.published <= from) return 0;
  told_ = statistics.published;
  const uint64_t number = statistics.published - from;
  return qos.history == RMW_QOS_POLICY_HISTORY_KEEP_LAST ? std::min<uint64_t>(number, qos.depth) : number;
}

size_t Subscription::count_unread() { return count_new(); }

}  // namespace rmw_situ
