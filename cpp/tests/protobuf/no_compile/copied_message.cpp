// A message cannot be copied, because both copies would end it.
// EXPECT: deleted
#include "situ/protobuf/writer.hpp"

void use(situ::protobuf::message& parent) {
#ifdef SITU_RIGHT
  situ::protobuf::message child(parent, 1);
#else
  situ::protobuf::message child = parent;
#endif
}
