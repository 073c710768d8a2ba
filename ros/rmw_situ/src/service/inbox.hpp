// Requests or replies that were taken from the bus and not by the user, as the history of a reader in DDS.
#pragma once

#include <rmw/types.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "support/qos.hpp"

namespace rmw_situ {

// Not for several threads at once.
template <class Message, void (*release)(Message*)>
class Inbox {
 public:
  explicit Inbox(const rmw_qos_profile_t& qos)
      : size_(kept_of(qos)), drops_(qos.history == RMW_QOS_POLICY_HISTORY_KEEP_LAST && qos.depth == size_) {}
  Inbox(const Inbox&) = delete;
  ~Inbox() {
    for (Message& message : kept_) release(&message);
  }

  bool is_empty() const { return kept_.empty(); }
  // Otherwise nothing may be taken from the bus, which keeps what follows.
  bool has_room() const { return drops_ || kept_.size() < size_; }

  // Drops the oldest message for it, if there are as many as the depth says.
  void push(const Message& message) {
    kept_.push_back(message);
    ++untold_;
    if (kept_.size() <= size_) return;
    release(&kept_.front());
    kept_.pop_front();
  }
  // The oldest message. There is one.
  Message pop() {
    const Message oldest = kept_.front();
    kept_.pop_front();
    return oldest;
  }

  // How many of the messages are there of which no callback was told. They are told now.
  size_t tell() { return std::min(std::exchange(untold_, 0), kept_.size()); }

 private:
  const size_t size_;
  const bool drops_;
  std::deque<Message> kept_;
  size_t untold_ = 0;
};

}  // namespace rmw_situ
