# What `cmake --install` brings, beside the programs and plugins (which their own functions install): the SDK's headers
# and libraries, the CMake package Switchyard, configurations and documents.

install(DIRECTORY core/include/switchyard sdk/include/switchyard DESTINATION include FILES_MATCHING PATTERN "*.h")
install(DIRECTORY configs DESTINATION share/switchyard)
# For `switchyard plugins new`.
install(DIRECTORY sdk/template DESTINATION share/switchyard)
# For `switchyard data fetch`.
install(FILES cmake/wheels.txt DESTINATION share/switchyard)
install(PROGRAMS cmake/bring_wheels DESTINATION libexec/switchyard)
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
  set(DESTINATION \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/SwitchyardInstalledDocs.cmake\")")
# The build tree shows configurations where the installed tree has them, relative to the program.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/switchyard")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/configs" "${PROJECT_BINARY_DIR}/share/switchyard/configs" SYMBOLIC)
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/sdk/template" "${PROJECT_BINARY_DIR}/share/switchyard/template" SYMBOLIC)
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/cmake/wheels.txt" "${PROJECT_BINARY_DIR}/share/switchyard/wheels.txt" SYMBOLIC)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/libexec/switchyard")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/cmake/bring_wheels" "${PROJECT_BINARY_DIR}/libexec/switchyard/bring_wheels" SYMBOLIC)

get_property(sdk_libraries GLOBAL PROPERTY SWITCHYARD_SDK_LIBRARIES)
if(sdk_libraries)
  install(TARGETS ${sdk_libraries} EXPORT SwitchyardTargets ARCHIVE DESTINATION lib/switchyard)
endif()
get_property(programs GLOBAL PROPERTY SWITCHYARD_LIBEXEC_PROGRAMS)
if(sdk_libraries OR programs)
  install(EXPORT SwitchyardTargets NAMESPACE switchyard:: DESTINATION lib/cmake/Switchyard)
endif()

# A plugin is built with the LibTorch that its host was built with; where that is, is written into the package.
set(SWITCHYARD_PACKAGE_LIBTORCH "${SWITCHYARD_LIBTORCH_ROOT}")
if(IS_ABSOLUTE "${SWITCHYARD_INSTALLED_LIBTORCH}")
  get_filename_component(SWITCHYARD_PACKAGE_LIBTORCH "${SWITCHYARD_INSTALLED_LIBTORCH}" DIRECTORY)
endif()
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/SwitchyardConfig.cmake.in "${PROJECT_BINARY_DIR}/package/SwitchyardConfig.cmake"
  INSTALL_DESTINATION lib/cmake/Switchyard NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/SwitchyardConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/SwitchyardConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/SwitchyardConfigVersion.cmake"
  cmake/SwitchyardLibTorch.cmake cmake/SwitchyardCuda.cmake sdk/cmake/SwitchyardPlugin.cmake
  DESTINATION lib/cmake/Switchyard)
