# cmake --install: the library, its headers, the command, and what find_package(tutti) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(tutti_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)

install(TARGETS tutti EXPORT tuttiTargets)
if(TARGET tutti_command)
  set_target_properties(tutti_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS tutti_command)
endif()
if(TARGET tutti_trace_recorder)
  install(TARGETS tutti_trace_recorder LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# What runs behind the interfaces is not for users to include.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/tutti/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tutti
        FILES_MATCHING PATTERN "*.h" PATTERN "kernels" EXCLUDE PATTERN "backends" EXCLUDE PATTERN "mesh/nccl" EXCLUDE PATTERN "lint" EXCLUDE PATTERN "trace" EXCLUDE
        PATTERN "exec/scalar_*.h" EXCLUDE PATTERN "ops/scalar_call.h" EXCLUDE)
install(EXPORT tuttiTargets NAMESPACE tutti:: DESTINATION ${tutti_cmake_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tuttiConfig.cmake.in ${PROJECT_BINARY_DIR}/tuttiConfig.cmake
                              INSTALL_DESTINATION ${tutti_cmake_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tuttiConfig.cmake ${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake DESTINATION ${tutti_cmake_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
