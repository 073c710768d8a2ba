// Stand-in for Lyrical's header of the same name: this release's, with the members that Lyrical has added.
#pragma once

#define is_cft_enabled \
  is_cft_enabled;      \
  bool is_cft_supported
#define ignore_local_publications \
  ignore_local_publications;      \
  char* acceptable_buffer_backends
#include_next <rmw/types.h>
#undef is_cft_enabled
#undef ignore_local_publications
