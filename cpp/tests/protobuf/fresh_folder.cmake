# Builds the example in a fresh folder, with plain CMake: against Situ's sources, and against an installed Situ without the bus.
# Called with -DCPP=<Situ's folder cpp> -DSITU=<the situ command> -DCXX=<compiler> -DWORK=<scratch folder>.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${CPP}/../examples/protobuf DESTINATION ${WORK})
set(compiler -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} -S ${CPP} -B ${WORK}/situ -DSITU_BUS=OFF -DSITU_TESTS=OFF ${compiler})
run(${CMAKE_COMMAND} --install ${WORK}/situ --prefix ${WORK}/installed)

get_filename_component(sources ${CPP} DIRECTORY)
foreach(where -DSITU_SOURCE_DIR=${sources} -DCMAKE_PREFIX_PATH=${WORK}/installed)
  file(REMOVE_RECURSE ${WORK}/build)
  run(${CMAKE_COMMAND} -S ${WORK}/protobuf -B ${WORK}/build ${where} -DSITU_COMMAND=${SITU} ${compiler})
  run(${CMAKE_COMMAND} --build ${WORK}/build)
  run(${WORK}/build/write_tour size)
  execute_process(COMMAND ${WORK}/build/generated_tour OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said STREQUAL "tour 7, 68 bytes\nUlm at 48.4, 9.99\nElchingen at 48.45, 10.09\n478 m\n463.5 m\n")
    message(FATAL_ERROR "the example said: ${said}")
  endif()
endforeach()
