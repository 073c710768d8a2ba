# situ_generate: generates C++ or C types for message definitions while the project is built.
#
#   situ_generate(<target> [LANGUAGE <CXX|C>] [FILES <file>...] [ROS <name>...] [INCLUDES <folder>...]
#                 [NAMESPACE <name>])
#
# LANGUAGE is CXX by default. With C, the header of `robot/arm.idl` is `robot/arm.h`, and the users of <target>
# link with situ::c.
#
# <target> becomes an interface library. Its users can include the generated headers. FILES are .proto files,
# or .idl, .msg, .srv and .action files. ROS names packages (`sensor_msgs`) or their interfaces
# (`sensor_msgs/msg/Image`). INCLUDES are the folders to search for packages and included files. The header of
# `<include>/robot/arm.idl` is `robot/arm.hpp`, and that of the message `sensor_msgs/msg/PointCloud2` is
# `sensor_msgs/msg/point_cloud2.hpp`.
#
# NAMESPACE is put around all generated code, and is the folder of the headers: with `my`,
# `my::sensor_msgs::msg::Image` is in `my/sensor_msgs/msg/image.hpp`. Generated code can then be used together
# with the code that rosidl generates from the same message. The command is SITU_COMMAND if that is set (a
# list: it may have arguments), otherwise the one installed beside the package, or `situ` on the PATH.
include_guard(GLOBAL)

function(situ_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LANGUAGE;NAMESPACE" "FILES;ROS;INCLUDES")
  if(arg_UNPARSED_ARGUMENTS OR NOT (arg_FILES OR arg_ROS))
    message(FATAL_ERROR "situ_generate(<target> [LANGUAGE <CXX|C>] [FILES <file>...] [ROS <name>...] [INCLUDES <folder>...] [NAMESPACE <name>])")
  endif()
  if(NOT arg_LANGUAGE OR arg_LANGUAGE STREQUAL "CXX")
    set(language cpp)
    set(library situ::types)
  elseif(arg_LANGUAGE STREQUAL "C")
    set(language c)
    set(library situ::c)
  else()
    message(FATAL_ERROR "situ_generate: LANGUAGE is CXX or C, not ${arg_LANGUAGE}")
  endif()

  if(SITU_COMMAND)
    set(command ${SITU_COMMAND})
  else()
    find_program(SITU_EXECUTABLE situ HINTS ${SITU_COMMAND_FOLDER})
    if(NOT SITU_EXECUTABLE)
      message(FATAL_ERROR "situ_generate needs the `situ` command: run `make install` in its sources, or set SITU_COMMAND")
    endif()
    set(command ${SITU_EXECUTABLE})
  endif()
  # Depends on the command, because another version may generate other code.
  list(GET command 0 program)

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

  set(ros)
  foreach(name IN LISTS arg_ROS)
    list(APPEND ros --ros ${name})
  endforeach()

  set(namespace)
  if(arg_NAMESPACE)
    set(namespace --namespace ${arg_NAMESPACE})
  endif()

  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${command} gen --lang ${language} --out ${out} --depfile ${stamp}.d ${namespace} ${includes} ${ros} ${files}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files} ${program}
    DEPFILE ${stamp}.d
    COMMENT "Generating ${language} messages of ${target}"
    VERBATIM)
  add_custom_target(${target}_generate DEPENDS ${stamp})

  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_generate)
  target_include_directories(${target} INTERFACE ${out})
  target_link_libraries(${target} INTERFACE ${library})
endfunction()
