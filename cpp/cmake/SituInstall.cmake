# Installation: headers, libsitu, the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/situ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(TARGETS situ_types EXPORT situTargets)

set(SITU_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/situ)
# The libraries after -lsitu in situ.pc. The second list is for programs linked with the static library.
set(SITU_PC_LIBS)
set(SITU_PC_LIBS_PRIVATE)
if(SITU_BUS)
  install(FILES ${PROJECT_SOURCE_DIR}/include/situ.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/include/situ/message.h ${PROJECT_SOURCE_DIR}/include/situ/batch.h ${PROJECT_SOURCE_DIR}/include/situ/blackboard.h ${PROJECT_SOURCE_DIR}/include/situ/events.h ${PROJECT_SOURCE_DIR}/include/situ/execute.h ${PROJECT_SOURCE_DIR}/include/situ/graph.h ${PROJECT_SOURCE_DIR}/include/situ/memory.h ${PROJECT_SOURCE_DIR}/include/situ/record.h ${PROJECT_SOURCE_DIR}/include/situ/service.h ${PROJECT_SOURCE_DIR}/include/situ/trace.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/situ)
  install(PROGRAMS ${SITU_SHARED} DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${situ_links} ${SITU_STATIC} DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(SITU_PC_LIBS "-L\${libdir} -lsitu")
  set(SITU_PC_LIBS_PRIVATE "-lgcc_s -lutil -lrt -lpthread -lm -ldl")
  set(situ_architecture)
else()
  set(situ_architecture ARCH_INDEPENDENT)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/situConfig.cmake.in
  ${PROJECT_BINARY_DIR}/situConfig.cmake INSTALL_DESTINATION ${SITU_PACKAGE_DIR}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/situConfigVersion.cmake COMPATIBILITY SameMinorVersion
  ${situ_architecture})
install(EXPORT situTargets NAMESPACE situ:: DESTINATION ${SITU_PACKAGE_DIR})
install(FILES
  ${PROJECT_BINARY_DIR}/situConfig.cmake
  ${PROJECT_BINARY_DIR}/situConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/SituGenerate.cmake
  DESTINATION ${SITU_PACKAGE_DIR})

# Relative to the file itself, so that the installation may be moved.
file(RELATIVE_PATH SITU_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SITU_PC_PREFIX ${SITU_PC_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/situ.pc.in ${PROJECT_BINARY_DIR}/situ.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/situ.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
