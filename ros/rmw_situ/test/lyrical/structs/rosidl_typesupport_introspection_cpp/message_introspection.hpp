// Stand-in for Lyrical's header of the same name: this release's, with the member that Lyrical has added.
#pragma once

#define resize_function                              \
  resize_function)(void* sequence, size_t elements); \
  bool is_rosidl_buffer_;                            \
  void (*stand_in_
#include_next <rosidl_typesupport_introspection_cpp/message_introspection.hpp>
#undef resize_function
