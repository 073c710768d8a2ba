// A child may not borrow a temporary parent.
// EXPECT: cannot bind non-const lvalue|expects an lvalue
#include "situ/protobuf/writer.hpp"

void use(situ::protobuf::message& parent) {
#ifdef SITU_RIGHT
  situ::protobuf::message child(parent, 1);
  situ::protobuf::message grandchild(child, 2);
#else
  situ::protobuf::message grandchild(parent.nested(1), 2);
#endif
}
