// A server of a service.
#pragma once

#include <rmw/types.h>
#include <situ/service.h>

#include <map>
#include <mutex>
#include <tuple>

#include "context.hpp"
#include "service/inbox.hpp"
#include "support/check.hpp"
#include "types/service_type.hpp"
#include "wait/listener.hpp"
#include "wait/waitable.hpp"

namespace rmw_situ {

class Server final : public Waitable, public Listened {
 public:
  using ServerHandle = rmw_situ::Handle<situ_server, situ_server_destroy>;

  Server(rmw_context_impl_s& context, const ServiceType& type, ServerHandle handle, rmw_qos_profile_t qos);
  ~Server() override;

  rmw_ret_t take(rmw_service_info_t* info, void* request, bool* taken);
  rmw_ret_t respond(const rmw_request_id_t& id, const void* response);
  rmw_ret_t set_callback(rmw_event_callback_t callback, const void* user_data);

  situ_status attach(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  bool has_kept() override;
  bool confirm() override;
  situ_status listen(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  size_t count_new() override;
  size_t count_unread() override { return count_new(); }

  const ServiceType& type;
  const rmw_qos_profile_t qos;
  const ServerHandle handle;

 private:
  // The node and the number of a client, and the number of its call.
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;

  // Takes what has come, as far as there is room. The mutex is held.
  void collect();

  rmw_context_impl_s& context_;
  std::mutex mutex_;
  Inbox<situ_request, situ_request_release> kept_;
  // Requests that were taken and not answered.
  std::map<Key, situ_request_id> unanswered_;
};

}  // namespace rmw_situ
