/* examples::Pose for C: its struct, and what a topic of it carries. There is no generator for C: `situ schema
 * show` prints the text and `situ schema hash` the two numbers. Should they not belong together, joining the
 * topic fails. */
#ifndef EXAMPLES_POSE_H
#define EXAMPLES_POSE_H

#include <situ.h>

typedef struct pose {
  double x;
  double y;
  double heading;
} pose;

static const situ_type pose_type = {
    .name = "examples::Pose",
    .schema =
        "module examples {\n"
        "@final @flat struct Pose {\n"
        "  @unit(\"m\") double x;\n"
        "  @unit(\"m\") double y;\n"
        "  @unit(\"rad\") double heading;\n"
        "};\n"
        "};\n",
    .schema_hash = 0xc09e6bdd10d19905,
    .layout_hash = 0x61676810330582ed,
    .encoding = SITU_FLAT,
};

#endif
