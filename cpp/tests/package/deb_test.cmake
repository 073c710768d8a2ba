# Builds the Debian packages, unpacks them into an empty folder, and builds and runs programs with what they
# have. Called with -DSOURCE=<this folder> -DCC=<compiler> -DCXX=<compiler> -DWORK=<scratch folder>
# -DPROFILE=<cargo profile>.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

find_program(DPKG_DEB dpkg-deb)
if(NOT DPKG_DEB)
  message(STATUS "SKIPPED: there is no dpkg-deb")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
set(ENV{SITU_CARGO_PROFILE} ${PROFILE})
run(${SOURCE}/../../../scripts/deb.sh ${WORK}/deb)
file(GLOB packages ${WORK}/deb/*.deb)
list(LENGTH packages count)
if(NOT count EQUAL 3)
  message(FATAL_ERROR "expected three packages, got: ${packages}")
endif()
set(ENV{CC} ${CC})
set(ENV{CXX} ${CXX})
run(${SOURCE}/../../../scripts/deb-check.sh --unpack ${WORK}/deb)
