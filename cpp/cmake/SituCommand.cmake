# The `situ` command of this source tree, for situ_generate within the tree. cargo builds it unless
# SITU_COMMAND names another.
include_guard(GLOBAL)

if(SITU_COMMAND OR NOT SITU_CARGO)
  return()
endif()

# A debug build is quick, and `cargo test` has usually built it already.
if(DEFINED ENV{CARGO_TARGET_DIR})
  set(SITU_COMMAND $ENV{CARGO_TARGET_DIR}/debug/situ)
else()
  set(SITU_COMMAND ${PROJECT_SOURCE_DIR}/../target/debug/situ)
endif()
add_custom_target(situ_command
  COMMAND ${SITU_CARGO} build --quiet --package situ-cli
  BYPRODUCTS ${SITU_COMMAND}
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/..
  COMMENT "Building the situ command"
  VERBATIM)
