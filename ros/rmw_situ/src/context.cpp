// Options, contexts, and their ends.
#include "context.hpp"

#include <rcutils/strdup.h>
#include <rmw/discovery_options.h>
#include <rmw/domain_id.h>
#include <rmw/init_options.h>
#include <rmw/rmw.h>
#include <rmw/security_options.h>
#include <situ/execute.h>
#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "support/check.hpp"

using namespace rmw_situ;

situ_status rmw_context_impl_s::get_own_node(const situ_node** node, situ_error* error) {
  const std::lock_guard lock(nodes_mutex);
  if (!own_node) {
    situ_node* made;
    const situ_status status = situ_node_create(own_node_name, &root, &made, error);
    if (status != SITU_OK) return status;
    own_node.reset(made);
  }
  *node = own_node.get();
  return SITU_OK;
}

situ_status rmw_context_impl_s::create_wait_set(situ_wait_set** set, situ_error* error) {
  const situ_node* node;
  situ_status status = get_own_node(&node, error);
  if (status == SITU_OK) status = situ_wait_set_create(node, set, error);
  if (status == SITU_OK) situ_wait_set_spin(*set, spin_ns);
  return status;
}

situ_status rmw_context_impl_s::start_events(const situ_event* event, situ_error* error) {
  if (looks_for_events) return SITU_OK;
  situ_wait_set* made;
  situ_status status = create_wait_set(&made, error);
  if (status != SITU_OK) return status;
  const Handle<situ_wait_set, situ_wait_set_destroy> set(made);
  uint64_t id;
  status = situ_wait_set_attach_event(set.get(), event, &id, error);
  // The threads belong to the context's own node, and stay.
  if (status == SITU_OK) looks_for_events = true;
  return status;
}

namespace {

// How long a wait may look for messages before it sleeps: RMW_SITU_SPIN_US, or 50 us, which is about twice
// the time in which a virtual machine wakes a sleeping thread. Not at all by default if there is one core
// only.
rmw_ret_t read_spin(uint64_t& spin_ns) {
  constexpr uint64_t usual_us = 50, most_us = 1'000'000;
  uint64_t spin_us = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? usual_us : 0;
  const char* const text = std::getenv("RMW_SITU_SPIN_US");
  if (text != nullptr && *text != '\0') {
    const char* const end = text + std::strlen(text);
    const auto [rest, code] = std::from_chars(text, end, spin_us);
    if (code != std::errc() || rest != end || spin_us > most_us) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
          "RMW_SITU_SPIN_US is '%s': it must be a number of microseconds from 0 to %" PRIu64, text, most_us);
      return RMW_RET_INVALID_ARGUMENT;
    }
  }
  spin_ns = spin_us * 1000;
  return RMW_RET_OK;
}

}  // namespace

extern "C" {

const char* rmw_get_implementation_identifier(void) { return identifier; }

const char* rmw_get_serialization_format(void) { return serialization_format; }

rmw_ret_t rmw_init_options_init(rmw_init_options_t* init_options, rcutils_allocator_t allocator) {
  SITU_CHECK_ARGUMENT(init_options);
  RCUTILS_CHECK_ALLOCATOR(&allocator, return RMW_RET_INVALID_ARGUMENT);
  if (init_options->implementation_identifier != nullptr) {
    RMW_SET_ERROR_MSG("expected zero-initialized init_options");
    return RMW_RET_INVALID_ARGUMENT;
  }
  init_options->instance_id = 0;
  init_options->implementation_identifier = identifier;
  init_options->allocator = allocator;
  init_options->impl = nullptr;
  init_options->enclave = nullptr;
  init_options->domain_id = RMW_DEFAULT_DOMAIN_ID;
  init_options->security_options = rmw_get_default_security_options();
  init_options->discovery_options = rmw_get_zero_initialized_discovery_options();
  return rmw_discovery_options_init(&init_options->discovery_options, 0, &allocator);
}

rmw_ret_t rmw_init_options_copy(const rmw_init_options_t* src, rmw_init_options_t* dst) {
  SITU_CHECK_ARGUMENT(src);
  SITU_CHECK_ARGUMENT(dst);
  RMW_CHECK_FOR_NULL_WITH_MSG(src->implementation_identifier, "expected initialized src",
                              return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_HANDLE(src);
  if (dst->implementation_identifier != nullptr) {
    RMW_SET_ERROR_MSG("expected zero-initialized dst");
    return RMW_RET_INVALID_ARGUMENT;
  }
  const rcutils_allocator_t* allocator = &src->allocator;
  RCUTILS_CHECK_ALLOCATOR(allocator, return RMW_RET_INVALID_ARGUMENT);

  rmw_init_options_t copy = *src;
  copy.enclave = nullptr;
  copy.security_options = rmw_get_zero_initialized_security_options();
  copy.discovery_options = rmw_get_zero_initialized_discovery_options();
  rmw_ret_t ret = RMW_RET_OK;
  if (src->enclave != nullptr) {
    copy.enclave = rcutils_strdup(src->enclave, *allocator);
    if (copy.enclave == nullptr) {
      RMW_SET_ERROR_MSG("out of memory for the enclave");
      ret = RMW_RET_BAD_ALLOC;
    }
  }
  if (ret == RMW_RET_OK)
    ret = rmw_security_options_copy(&src->security_options, allocator, &copy.security_options);
  if (ret == RMW_RET_OK) {
    rcutils_allocator_t with = *allocator;
    ret = rmw_discovery_options_copy(&src->discovery_options, &with, &copy.discovery_options);
  }
  if (ret != RMW_RET_OK) {
    allocator->deallocate(copy.enclave, allocator->state);
    std::ignore = rmw_security_options_fini(&copy.security_options, allocator);
    return ret;
  }
  *dst = copy;
  return RMW_RET_OK;
}

rmw_ret_t rmw_init_options_fini(rmw_init_options_t* init_options) {
  SITU_CHECK_ARGUMENT(init_options);
  RMW_CHECK_FOR_NULL_WITH_MSG(init_options->implementation_identifier, "expected initialized init_options",
                              return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_HANDLE(init_options);
  rcutils_allocator_t* allocator = &init_options->allocator;
  RCUTILS_CHECK_ALLOCATOR(allocator, return RMW_RET_INVALID_ARGUMENT);

  allocator->deallocate(init_options->enclave, allocator->state);
  rmw_ret_t ret = rmw_security_options_fini(&init_options->security_options, allocator);
  const rmw_ret_t discovery = rmw_discovery_options_fini(&init_options->discovery_options);
  if (ret == RMW_RET_OK) ret = discovery;
  *init_options = rmw_get_zero_initialized_init_options();
  return ret;
}

rmw_ret_t rmw_init(const rmw_init_options_t* options, rmw_context_t* context) {
  SITU_CHECK_ARGUMENT(options);
  SITU_CHECK_ARGUMENT(context);
  RMW_CHECK_FOR_NULL_WITH_MSG(options->implementation_identifier, "expected initialized init options",
                              return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_HANDLE(options);
  RMW_CHECK_FOR_NULL_WITH_MSG(options->enclave, "expected non-null enclave", return RMW_RET_INVALID_ARGUMENT);
  if (context->implementation_identifier != nullptr) {
    RMW_SET_ERROR_MSG("expected a zero-initialized context");
    return RMW_RET_INVALID_ARGUMENT;
  }
  if (options->security_options.enforce_security == RMW_SECURITY_ENFORCEMENT_ENFORCE) {
    RMW_SET_ERROR_MSG(
        "rmw_situ has no SROS 2 security: who may read and write is decided by the file system (users, "
        "groups and modes of SITU_ROOT); unset ROS_SECURITY_STRATEGY");
    return RMW_RET_UNSUPPORTED;
  }
  const size_t domain = options->domain_id == RMW_DEFAULT_DOMAIN_ID ? 0 : options->domain_id;
  // From here on domains of single processes begin.
  constexpr uint32_t alone = uint32_t{1} << 31;
  if (domain >= alone) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("domain id %zu is too large: the largest is %u", domain, alone - 1);
    return RMW_RET_INVALID_ARGUMENT;
  }
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    situ_root root = {nullptr, SITU_NO_GROUP, static_cast<uint32_t>(domain)};
    // Without discovery, the processes of a machine do not meet.
    if (options->discovery_options.automatic_discovery_range == RMW_AUTOMATIC_DISCOVERY_RANGE_OFF) {
      root.graph_domain = alone | static_cast<uint32_t>(getpid());
    }
    rmw_context_t made = rmw_get_zero_initialized_context();
    made.options = rmw_get_zero_initialized_init_options();
    uint64_t spin_ns;
    rmw_ret_t ret = read_spin(spin_ns);
    if (ret != RMW_RET_OK) return ret;
    auto impl = std::make_unique<rmw_context_impl_s>(root, options->enclave, spin_ns);
    ret = rmw_init_options_copy(options, &made.options);
    if (ret != RMW_RET_OK) return ret;
    made.instance_id = options->instance_id;
    made.implementation_identifier = identifier;
    made.actual_domain_id = domain;
    made.impl = impl.release();
    *context = made;
    return RMW_RET_OK;
  });
}

rmw_ret_t rmw_shutdown(rmw_context_t* context) {
  SITU_CHECK_ARGUMENT(context);
  RMW_CHECK_FOR_NULL_WITH_MSG(context->impl, "expected initialized context", return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_HANDLE(context);
  context->impl->is_shut_down = true;
  return RMW_RET_OK;
}

rmw_ret_t rmw_context_fini(rmw_context_t* context) {
  SITU_CHECK_ARGUMENT(context);
  RMW_CHECK_FOR_NULL_WITH_MSG(context->impl, "expected initialized context", return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_HANDLE(context);
  if (!context->impl->is_shut_down) {
    RMW_SET_ERROR_MSG("context has not been shutdown");
    return RMW_RET_INVALID_ARGUMENT;
  }
  {
    const std::lock_guard lock(context->impl->nodes_mutex);
    if (!context->impl->nodes.empty()) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("the context still has %zu nodes: destroy them first",
                                           context->impl->nodes.size());
      return RMW_RET_ERROR;
    }
  }
  const rmw_ret_t ret = rmw_init_options_fini(&context->options);
  delete context->impl;
  *context = rmw_get_zero_initialized_context();
  return ret;
}

}  // extern "C"
