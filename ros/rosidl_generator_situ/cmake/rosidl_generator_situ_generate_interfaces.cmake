# Runs `situ gen` for the interfaces of a package. rosidl_generate_interfaces() includes this file in the
# scope of its caller.
find_package(rosidl_cmake REQUIRED)

if(NOT SITU_COMMAND)
  message(FATAL_ERROR "rosidl_generator_situ needs the `situ` command: install it (cargo install situ-cli), "
    "or name it with -DSITU_COMMAND=<path>")
endif()

set(_situ_output "${CMAKE_CURRENT_BINARY_DIR}/rosidl_generator_situ")
set(_situ_target "${rosidl_generate_interfaces_TARGET}__situ")

# The interfaces with their overlay files, as a folder of the package: situ finds messages in <package>/msg.
# An .idl that was generated from a .msg lies in the build folder, and the overlay file lies beside the .msg.
set(_situ_interfaces "${_situ_output}/interfaces/${PROJECT_NAME}")
file(REMOVE_RECURSE "${_situ_interfaces}")
set(_situ_inputs "")
foreach(_situ_tuple ${rosidl_generate_interfaces_IDL_TUPLES})
  string(REGEX REPLACE ":([^:]*)$" "/\\1" _situ_file "${_situ_tuple}")
  get_filename_component(_situ_folder "${_situ_file}" DIRECTORY)
  get_filename_component(_situ_folder "${_situ_folder}" NAME)
  get_filename_component(_situ_name "${_situ_file}" NAME_WE)
  configure_file("${_situ_file}" "${_situ_interfaces}/${_situ_folder}/${_situ_name}.idl" COPYONLY)
  list(APPEND _situ_inputs "${_situ_interfaces}/${_situ_folder}/${_situ_name}.idl")
  # `_interface_tuples` are the files as the caller named them, <base>:<relative>.
  foreach(_situ_tuple ${_interface_tuples})
    string(REGEX REPLACE ":([^:]*)$" "/\\1" _situ_side "${_situ_tuple}")
    string(REGEX REPLACE "\\.[a-z]+$" ".situ" _situ_side "${_situ_side}")
    if(_situ_side MATCHES "/${_situ_folder}/${_situ_name}\\.situ$" AND EXISTS "${_situ_side}")
      configure_file("${_situ_side}" "${_situ_interfaces}/${_situ_folder}/${_situ_name}.situ" COPYONLY)
      list(APPEND _situ_inputs "${_situ_interfaces}/${_situ_folder}/${_situ_name}.situ")
      if(NOT rosidl_generate_interfaces_SKIP_INSTALL)
        install(FILES "${_situ_side}" DESTINATION "share/${PROJECT_NAME}/${_situ_folder}")
      endif()
      break()
    endif()
  endforeach()
endforeach()

# Dependencies lie in <prefix>/share/<package>; SITU_INCLUDES adds folders, for instance with overlay files
# for them.
set(_situ_includes -I "${_situ_output}/interfaces")
foreach(_situ_include ${SITU_INCLUDES})
  get_filename_component(_situ_include "${_situ_include}" ABSOLUTE)
  list(APPEND _situ_includes -I "${_situ_include}")
endforeach()
foreach(_situ_package ${rosidl_generate_interfaces_DEPENDENCY_PACKAGE_NAMES})
  get_filename_component(_situ_share "${${_situ_package}_DIR}/../.." ABSOLUTE)
  if(NOT _situ_share IN_LIST _situ_includes)
    list(APPEND _situ_includes -I "${_situ_share}")
  endif()
endforeach()

set(_situ_stamps "")
set(_situ_has_action FALSE)
if(EXISTS "${_situ_interfaces}/action")
  set(_situ_has_action TRUE)
endif()

if(SITU_RUST)
  set(_situ_arguments --lang rclrs --only ${PROJECT_NAME})
  if(_situ_has_action)
    list(APPEND _situ_arguments --ros action_msgs)
  endif()
  if(SITU_LAYOUT)
    list(APPEND _situ_arguments --layout "${SITU_LAYOUT}")
  endif()
  add_custom_command(
    OUTPUT "${_situ_output}/rust.stamp"
    COMMAND ${SITU_COMMAND} gen ${_situ_arguments} --out "${_situ_output}/rust" --depfile "${_situ_output}/rust.stamp.d"
      ${_situ_includes} --ros ${PROJECT_NAME}
    COMMAND ${CMAKE_COMMAND} -E touch "${_situ_output}/rust.stamp"
    DEPENDS ${_situ_inputs} ${SITU_COMMAND}
    DEPFILE "${_situ_output}/rust.stamp.d"
    COMMENT "Generating Situ's Rust crate for ${PROJECT_NAME}"
    VERBATIM)
  list(APPEND _situ_stamps "${_situ_output}/rust.stamp")
  if(NOT rosidl_generate_interfaces_SKIP_INSTALL)
    # The place in which colcon-ros-cargo and similar tools look for crates.
    ament_index_register_resource(rust_packages)
    install(DIRECTORY "${_situ_output}/rust/${PROJECT_NAME}/" DESTINATION "share/${PROJECT_NAME}/rust")
  endif()
endif()

if(SITU_CPP)
  set(_situ_namespace "")
  if(SITU_NAMESPACE)
    set(_situ_namespace --namespace ${SITU_NAMESPACE})
  endif()
  add_custom_command(
    OUTPUT "${_situ_output}/cpp.stamp"
    COMMAND ${SITU_COMMAND} gen --lang cpp --out "${_situ_output}/cpp" --depfile "${_situ_output}/cpp.stamp.d"
      ${_situ_namespace} ${_situ_includes} --ros ${PROJECT_NAME}
    COMMAND ${CMAKE_COMMAND} -E touch "${_situ_output}/cpp.stamp"
    DEPENDS ${_situ_inputs} ${SITU_COMMAND}
    DEPFILE "${_situ_output}/cpp.stamp.d"
    COMMENT "Generating Situ's C++ headers for ${PROJECT_NAME}"
    VERBATIM)
  list(APPEND _situ_stamps "${_situ_output}/cpp.stamp")

  # A root of its own: without a namespace, the headers have the names of rosidl_generator_cpp's.
  add_library(${_situ_target}_cpp INTERFACE)
  add_library(${PROJECT_NAME}::${_situ_target}_cpp ALIAS ${_situ_target}_cpp)
  target_compile_features(${_situ_target}_cpp INTERFACE cxx_std_20)
  target_include_directories(${_situ_target}_cpp INTERFACE
    "$<BUILD_INTERFACE:${_situ_output}/cpp>"
    "$<INSTALL_INTERFACE:include/${PROJECT_NAME}__situ>")
  # Situ's own headers, if its package is installed.
  find_package(situ QUIET)
  if(situ_FOUND)
    target_link_libraries(${_situ_target}_cpp INTERFACE situ::types)
  endif()
  if(NOT rosidl_generate_interfaces_SKIP_INSTALL)
    install(DIRECTORY "${_situ_output}/cpp/" DESTINATION "include/${PROJECT_NAME}__situ")
    install(TARGETS ${_situ_target}_cpp EXPORT export_${_situ_target}_cpp)
    ament_export_targets(export_${_situ_target}_cpp)
    if(situ_FOUND)
      ament_export_dependencies(situ)
    endif()
  endif()
endif()

add_custom_target(${_situ_target} DEPENDS ${_situ_stamps})
add_dependencies(${rosidl_generate_interfaces_TARGET} ${_situ_target})
if(SITU_CPP)
  add_dependencies(${_situ_target}_cpp ${_situ_target})
endif()
