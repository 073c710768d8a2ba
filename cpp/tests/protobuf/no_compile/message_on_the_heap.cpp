// A message cannot outlive its scope.
// EXPECT: deleted
#include "situ/protobuf/writer.hpp"

void use(situ::protobuf::message& parent) {
#ifdef SITU_RIGHT
  situ::protobuf::message child(parent, 1);
#else
  auto* child = new situ::protobuf::message(parent, 1);
#endif
}
