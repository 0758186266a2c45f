# Packages, by `cpack` in a build folder: a .tar.gz that is unpacked anywhere, and a .deb. Neither has LibTorch in it:
# core/kernel/machine/libtorch_place.h says where that is looked for.

set(CPACK_PACKAGE_NAME switchyard)
set(CPACK_PACKAGE_VENDOR Switchyard)
set(CPACK_PACKAGE_CONTACT "The developers of Switchyard")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Trains, runs and compares BERT, GPT and T5 models whose attention, normalization, \
activation, loss, optimizer, precision policy, linear layers and data loader are plugins. It needs \
LibTorch ${SWITCHYARD_LIBTORCH_VERSION}, which SWITCHYARD_LIBTORCH names, or which lies in lib/switchyard/libtorch.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_VERBATIM_VARIABLES TRUE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_THREADS 0)
# Which packages have the libraries that programs and plugins need is asked for when the package is made.
set(SWITCHYARD_PACKAGED_PLUGINS "${PROJECT_BINARY_DIR}/${SWITCHYARD_PLUGIN_DIR}")
configure_file(cmake/SwitchyardPackageDepends.cmake.in "${PROJECT_BINARY_DIR}/package/SwitchyardPackageDepends.cmake" @ONLY)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/package/SwitchyardPackageDepends.cmake")
include(CPack)
