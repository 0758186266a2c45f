# The last lines of a configuration: what is built, and what was left out and why.

message(STATUS "LibTorch ${SWITCHYARD_LIBTORCH_VERSION} in ${SWITCHYARD_LIBTORCH_ROOT}")
if(SWITCHYARD_CUDA_ENABLED)
  set(cuda "built with nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  set(cuda "left out: ${SWITCHYARD_CUDA_REASON}")
endif()
message(STATUS "CUDA parts: ${cuda}")
# `./dev build` shows these lines at its end, also when nothing had to be configured again.
file(WRITE "${PROJECT_BINARY_DIR}/report.txt"
  "LibTorch ${SWITCHYARD_LIBTORCH_VERSION} in ${SWITCHYARD_LIBTORCH_ROOT}\nCUDA parts ${cuda}\n")

# For the test of the dependency rule: one line per target, NAME|SOURCE FILES|WHAT IT LINKS, each a list with ';'.
get_property(targets GLOBAL PROPERTY SWITCHYARD_TARGETS)
get_property(plugins GLOBAL PROPERTY SWITCHYARD_PLUGINS)
set(lines "")
foreach(target IN LISTS targets plugins)
  get_target_property(target_sources ${target} SOURCES)
  get_target_property(target_folder ${target} SOURCE_DIR)
  get_target_property(target_links ${target} LINK_LIBRARIES)
  set(absolute "")
  foreach(source IN LISTS target_sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${target_folder}")
    list(APPEND absolute "${source}")
  endforeach()
  string(APPEND lines "${target}|${absolute}|${target_links}\n")
endforeach()
file(WRITE "${PROJECT_BINARY_DIR}/targets.txt" "${lines}")
