// Refuses targets that Situ does not support. Has no includes, so that the refusal is the first error.
#pragma once

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Situ needs a little-endian target: messages in shared memory are little-endian and are not converted"
#endif
#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ != 8
#error "Situ needs a target with 64-bit addresses: pools are larger than 32-bit addresses can map"
#endif
