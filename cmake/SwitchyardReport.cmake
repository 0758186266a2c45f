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
