# Installs Situ into a new folder, moves the folder, and builds and runs the consumer with it: with CMake and
# with pkg-config. Called with -DBUILD=<build folder of Situ> -DSOURCE=<this folder> -DCXX=<compiler>
# -DCC=<compiler> -DWORK=<scratch folder> -DSITU=<the situ command>.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/source)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/installed)
file(GLOB sources ${SOURCE}/*.c ${SOURCE}/*.cpp ${SOURCE}/*.idl ${SOURCE}/parts ${SOURCE}/CMakeLists.txt)
file(COPY ${sources} DESTINATION ${WORK}/source)
set(ENV{SITU_ROOT} ${WORK}/root)

run(${CMAKE_COMMAND} -S ${WORK}/source -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/installed
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug -DSITU_COMMAND=${SITU})
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program types bus c c_static)
  run(${WORK}/build/${program})
endforeach()

find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
  message(STATUS "pkg-config is not installed: situ.pc is not tested")
  return()
endif()
file(GLOB_RECURSE pc ${WORK}/installed/*/situ.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
set(ENV{PKG_CONFIG_PATH} ${pc_folder})
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs situ OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${CXX} -std=c++20 ${SOURCE}/bus.cpp -o ${WORK}/by_pkg_config ${flags})
file(GLOB_RECURSE library ${WORK}/installed/*/libsitu.so)
cmake_path(GET library PARENT_PATH library_folder)
set(ENV{LD_LIBRARY_PATH} ${library_folder})
run(${WORK}/by_pkg_config)
