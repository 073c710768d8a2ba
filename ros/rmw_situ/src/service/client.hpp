// A client of a service.
#pragma once

#include <rmw/types.h>
#include <situ/service.h>

#include <deque>
#include <mutex>

#include "context.hpp"
#include "service/inbox.hpp"
#include "support/check.hpp"
#include "types/service_type.hpp"
#include "wait/listener.hpp"
#include "wait/waitable.hpp"

namespace rmw_situ {

class Client final : public Waitable, public Listened {
 public:
  using ClientHandle = rmw_situ::Handle<situ_client, situ_client_destroy>;

  Client(rmw_context_impl_s& context, const ServiceType& type, ClientHandle handle, rmw_qos_profile_t qos);
  ~Client() override;

  rmw_ret_t send(const void* request, int64_t* sequence_id);
  rmw_ret_t take(rmw_service_info_t* info, void* response, bool* taken);
  bool has_server() const { return situ_client_servers(handle.get()) != 0; }
  rmw_ret_t set_callback(rmw_event_callback_t callback, const void* user_data);

  situ_status attach(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  bool has_kept() override;
  bool confirm() override;
  situ_status listen(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  size_t count_new() override;
  size_t count_unread() override { return count_new(); }

  const ServiceType& type;
  const rmw_qos_profile_t qos;
  const ClientHandle handle;

 private:
  static void release(situ_reply* reply) { situ_sample_release(&reply->sample); }

  // Takes what has come, as far as there is room. The mutex is held.
  void collect();

  rmw_context_impl_s& context_;
  std::mutex mutex_;
  Inbox<situ_reply, release> kept_;
  // Calls of which no reply was taken, the oldest first. Programs of ROS do not tell when they give one up.
  std::deque<uint64_t> under_way_;
  // The number of a request that no server can get, because there is none.
  int64_t unsent_;
};

}  // namespace rmw_situ
