// Calls a callback with the parts of a reply.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/service/client_core.hpp"
#include "situ/bus/service/pending_call.hpp"
#include "situ/layout/message.hpp"
#include "situ/support/result.hpp"

namespace situ::detail {

/// Waits for all parts of a reply. It belongs to itself, and to its client while it is linked there.
template <message P, class Callback>
class callback_receiver final : public receiver {
 public:
  callback_receiver(std::uint64_t call, Callback callback) : receiver(call), callback_(std::move(callback)) {}

  void drop() noexcept override { delete this; }

 private:
  using outcome = result<std::optional<sample<P>>, error>;

  /// Ends the call unless the callback returned.
  struct ended {
    client_core& core;
    std::uint64_t call;
    bool is_over = true;
    ~ended() {
      if (is_over) core.cancel(call);
    }
  };

  void receive(client_core& core, const situ_reply& reply, failed&& why) override {
    std::unique_ptr<callback_receiver> self(this);
    ended end{core, call()};
    std::optional<sample<P>> part;
    if (!why) part = open_reply<P>(core, reply, why);
    if (why) {
      callback_(outcome(failure{*std::move(why)}));
      return;
    }
    const bool has_part = part.has_value();
    callback_(outcome(std::move(part)));
    if (reply.is_last != 0) {
      if (has_part) callback_(outcome(std::nullopt));
      return;
    }
    // The callback may have cancelled the call.
    if (!core.is_under_way(call())) return;
    end.is_over = false;
    core.link(*self.release());
  }

  Callback callback_;
};

}  // namespace situ::detail
