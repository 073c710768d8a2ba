// A message cannot be moved: it ends at the end of its scope.
// EXPECT: deleted
#include "situ/protobuf/writer.hpp"

void use(situ::protobuf::message& parent) {
  situ::protobuf::message child(parent, 1);
#ifndef SITU_RIGHT
  situ::protobuf::message other = static_cast<situ::protobuf::message&&>(child);
#endif
}
