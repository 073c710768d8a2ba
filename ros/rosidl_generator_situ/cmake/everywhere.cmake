# For packages that do not depend on Situ:
# -DCMAKE_PROJECT_INCLUDE=<prefix>/share/rosidl_generator_situ/cmake/everywhere.cmake makes each configured
# project find the generator, if it is installed.
if(NOT PROJECT_NAME STREQUAL "rosidl_generator_situ")
  find_package(rosidl_generator_situ QUIET HINTS "${CMAKE_CURRENT_LIST_DIR}")
endif()
