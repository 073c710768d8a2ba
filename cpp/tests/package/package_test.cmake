# Installs Situ into a new folder as `make install` does, moves the folder, and builds and runs the consumer
# with it, and the projects of `situ new`: with CMake, cargo and pkg-config. Called with -DSOURCE=<this folder>
# -DCXX=<compiler> -DCC=<compiler> -DWORK=<scratch folder> -DPROFILE=<cargo profile>.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/source)
set(ENV{SITU_CARGO_PROFILE} ${PROFILE})
run(${SOURCE}/../../../scripts/install.sh /opt/situ ${WORK}/first)
file(RENAME ${WORK}/first/opt/situ ${WORK}/installed)
file(GLOB sources ${SOURCE}/*.c ${SOURCE}/*.cpp ${SOURCE}/*.idl ${SOURCE}/parts ${SOURCE}/CMakeLists.txt)
file(COPY ${sources} DESTINATION ${WORK}/source)
set(ENV{SITU_ROOT} ${WORK}/root)
foreach(file bin/situ bin/protoc-gen-situ share/man/man1/situ-topic-echo.1 share/zsh/site-functions/_situ
    share/bash-completion/completions/situ share/fish/vendor_completions.d/situ.fish)
  if(NOT EXISTS ${WORK}/installed/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
run(${WORK}/installed/bin/situ topic list)

run(${CMAKE_COMMAND} -S ${WORK}/source -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/installed
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/build)
foreach(program types bus c c_static)
  run(${WORK}/build/${program})
endforeach()

# Projects that `situ new` writes. The folder of compiled dependencies stays for the next run.
find_program(BASH bash)
cmake_path(GET WORK PARENT_PATH around)
run(${BASH} ${SOURCE}/projects.sh ${WORK}/installed ${WORK}/projects ${SOURCE}/../../../Cargo.lock ${around}/projects-target)

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
