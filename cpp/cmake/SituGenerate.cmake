# situ_generate: C++ types for message definitions, made while the project is built.
#
#   situ_generate(<target> FILES <file>... [INCLUDES <folder>...])
#
# <target> becomes an interface library whose users can include the generated headers: `a/b.idl` becomes `b.hpp`,
# `sensor_msgs/msg/Image.msg` becomes `sensor_msgs/msg/image.hpp`. FILES are .idl, .msg, .srv and .action files;
# INCLUDES are the folders where further definitions are searched. The command is $SITU_COMMAND when that is set (it
# may have arguments of its own), otherwise `situ` on the PATH.
include_guard(GLOBAL)

function(situ_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES;INCLUDES")
  if(NOT arg_FILES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "situ_generate(<target> FILES <file>... [INCLUDES <folder>...]): no FILES, or too much else")
  endif()

  if(SITU_COMMAND)
    set(command ${SITU_COMMAND})
  else()
    find_program(SITU_EXECUTABLE situ)
    if(NOT SITU_EXECUTABLE)
      message(FATAL_ERROR "situ_generate needs the `situ` command: install it (cargo install situ-cli), or set SITU_COMMAND")
    endif()
    set(command ${SITU_EXECUTABLE})
  endif()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target})
  set(stamp ${out}/generated.stamp)
  set(files)
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND files ${file})
  endforeach()
  set(includes)
  foreach(folder IN LISTS arg_INCLUDES)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND includes -I ${folder})
  endforeach()

  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${command} gen --lang cpp --out ${out} ${includes} ${files}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files}
    COMMENT "Generating C++ messages of ${target}"
    VERBATIM)
  add_custom_target(${target}_generate DEPENDS ${stamp})

  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_generate)
  target_include_directories(${target} INTERFACE ${out})
  target_link_libraries(${target} INTERFACE situ::types)
endfunction()
