# situ::c and situ::situ: libsitu for C, and the bus for C++ over it.
#
# cargo builds libsitu together with the C++ targets. Alternatively SITU_LIBRARY_DIR names the folder in which
# `cargo build --release -p situ-c` left libsitu.so and libsitu.a. Without cargo there is only situ::types.
include_guard(GLOBAL)

find_program(SITU_CARGO cargo HINTS $ENV{HOME}/.cargo/bin DOC "The cargo that builds libsitu")
set(SITU_LIBRARY_DIR "" CACHE PATH "A folder with a libsitu that is built already; cargo builds it when empty")
if(SITU_CARGO OR SITU_LIBRARY_DIR)
  set(situ_has_bus ON)
else()
  set(situ_has_bus OFF)
  message(STATUS "Situ: no cargo and no SITU_LIBRARY_DIR, so the bus (situ::situ) is left out")
endif()
option(SITU_BUS "Build the bus: libsitu, situ::c and situ::situ" ${situ_has_bus})
if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  set(situ_default_profile release)
else()
  set(situ_default_profile dev)
endif()
set(SITU_CARGO_PROFILE ${situ_default_profile} CACHE STRING "The cargo profile of libsitu: dev or release")
if(NOT SITU_BUS)
  return()
endif()

set(SITU_WORKSPACE ${PROJECT_SOURCE_DIR}/..)
if(DEFINED ENV{CARGO_TARGET_DIR})
  set(situ_target_dir $ENV{CARGO_TARGET_DIR})
else()
  set(situ_target_dir ${SITU_WORKSPACE}/target)
endif()
if(SITU_CARGO_PROFILE STREQUAL "dev")
  set(SITU_CARGO_OUT ${situ_target_dir}/debug)
else()
  set(SITU_CARGO_OUT ${situ_target_dir}/${SITU_CARGO_PROFILE})
endif()

# The library with the names that the loader and the linker expect, in a folder of its own.
set(SITU_SONAME libsitu.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(SITU_SHARED ${PROJECT_BINARY_DIR}/lib/libsitu.so.${PROJECT_VERSION})
set(SITU_STATIC ${PROJECT_BINARY_DIR}/lib/libsitu.a)
set(situ_links ${PROJECT_BINARY_DIR}/lib/${SITU_SONAME} ${PROJECT_BINARY_DIR}/lib/libsitu.so)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(SITU_LIBRARY_DIR)
  set(situ_source ${SITU_LIBRARY_DIR})
  set(situ_build_command)
else()
  set(situ_source ${SITU_CARGO_OUT})
  # cargo decides itself whether to rebuild, so it always runs.
  set(situ_build_command COMMAND ${SITU_CARGO} build --quiet --package situ-c --lib --profile ${SITU_CARGO_PROFILE})
endif()
add_custom_target(situ_cargo ALL
  ${situ_build_command}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${situ_source}/libsitu.so ${SITU_SHARED}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${situ_source}/libsitu.a ${SITU_STATIC}
  COMMAND ${CMAKE_COMMAND} -E create_symlink libsitu.so.${PROJECT_VERSION} ${PROJECT_BINARY_DIR}/lib/${SITU_SONAME}
  COMMAND ${CMAKE_COMMAND} -E create_symlink ${SITU_SONAME} ${PROJECT_BINARY_DIR}/lib/libsitu.so
  BYPRODUCTS ${SITU_SHARED} ${SITU_STATIC} ${situ_links}
  WORKING_DIRECTORY ${SITU_WORKSPACE}
  COMMENT "Building libsitu (${SITU_CARGO_PROFILE})"
  VERBATIM)

add_library(situ_shared SHARED IMPORTED GLOBAL)
set_target_properties(situ_shared PROPERTIES IMPORTED_LOCATION ${SITU_SHARED} IMPORTED_SONAME ${SITU_SONAME})
add_dependencies(situ_shared situ_cargo)

add_library(situ_c INTERFACE)
target_include_directories(situ_c INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(situ_c INTERFACE situ_shared)
add_library(situ::c ALIAS situ_c)

add_library(situ_situ INTERFACE)
target_link_libraries(situ_situ INTERFACE situ_types situ_c)
add_library(situ::situ ALIAS situ_situ)
