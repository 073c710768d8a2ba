# Installation: headers, the CMake package and the pkg-config file.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/situ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(TARGETS situ_types EXPORT situTargets)

set(SITU_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/situ)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/situConfig.cmake.in
  ${PROJECT_BINARY_DIR}/situConfig.cmake INSTALL_DESTINATION ${SITU_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/situConfigVersion.cmake COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(EXPORT situTargets NAMESPACE situ:: DESTINATION ${SITU_PACKAGE_DIR})
install(FILES
  ${PROJECT_BINARY_DIR}/situConfig.cmake
  ${PROJECT_BINARY_DIR}/situConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/SituGenerate.cmake
  DESTINATION ${SITU_PACKAGE_DIR})

configure_file(${PROJECT_SOURCE_DIR}/cmake/situ.pc.in ${PROJECT_BINARY_DIR}/situ.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/situ.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
