# The settings of all peers: an optimized C++20 program, in the folder in which the driver looks for it.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

function(add_peer name)
  add_executable(${name} ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/../common)
  if(BENCH_BIN)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${BENCH_BIN})
  endif()
endfunction()
