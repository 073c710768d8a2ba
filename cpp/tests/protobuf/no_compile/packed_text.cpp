// A packed field holds numbers.
// EXPECT: constraint|no match|not satisfied
#include "situ/protobuf/writer.hpp"

void use(situ::protobuf::message& parent) {
  situ::protobuf::packed numbers(parent, 1);
#ifdef SITU_RIGHT
  numbers.varint(1);
#else
  numbers.varint("one");
#endif
}
