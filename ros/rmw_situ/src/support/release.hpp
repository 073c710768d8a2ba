// What differs between the releases of ROS, Jazzy (rmw 7.3), Kilted (7.8) and Lyrical (7.11), in one place.
//
// Members are looked for in the structs, and not version numbers compared: a release gets members by patches,
// too, and the compiler then checks what is used of them.
#pragma once

#include <rmw/types.h>

// Lyrical asks for the endpoints of services.
#if __has_include(<rmw/get_service_endpoint_info.h>)
#define RMW_SITU_HAS_SERVICE_ENDPOINTS 1
#include <rmw/get_service_endpoint_info.h>
#else
#define RMW_SITU_HAS_SERVICE_ENDPOINTS 0
#endif

namespace rmw_situ::release {

// Whether a member of a message is marked as a key. Releases before Kilted do not tell.
template <class Member>
bool is_key(const Member& member) {
  if constexpr (requires { member.is_key_; }) {
    return member.is_key_;
  } else {
    return false;
  }
}

// Whether a sequence of bytes is a rosidl::Buffer, from Lyrical on. In C++ it is a pointer and no vector; in
// C its elements may be somewhere else. Only the functions of introspection may access it, and they throw if
// its bytes are on a device.
template <class Member>
bool is_buffer(const Member& member) {
  if constexpr (requires { member.is_rosidl_buffer_; }) {
    return member.is_rosidl_buffer_;
  } else {
    return false;
  }
}

// Tells that subscriptions can have content filters. Lyrical asks before it sets one.
template <class Subscription>
void set_supports_filters(Subscription& subscription) {
  if constexpr (requires { subscription.is_cft_supported; }) subscription.is_cft_supported = true;
}

// The tests compile with stand-ins for Lyrical's headers.
#ifdef RMW_SITU_EXPECT_LYRICAL
static_assert(requires(rmw_subscription_t subscription) { subscription.is_cft_supported; });
#endif

}  // namespace rmw_situ::release
