# Turns CUDA on where there is an nvcc that can be used, and says why not where there is none.
# Sets SWITCHYARD_CUDA_ENABLED, and SWITCHYARD_CUDA_REASON when it is off. Makes switchyard::libtorch_cuda (for the
# wrappers of a plugin's CUDA library). Used by the build and by the installed package.

set(SWITCHYARD_CUDA AUTO CACHE STRING "Build CUDA parts: AUTO (where nvcc is found), ON (fail without), OFF")
set_property(CACHE SWITCHYARD_CUDA PROPERTY STRINGS AUTO ON OFF)

set(SWITCHYARD_CUDA_FOR ALL CACHE STRING
  "CUDA architectures: ALL that kernels are written for, or HOST: that of this machine's device, or one where there is none")
set_property(CACHE SWITCHYARD_CUDA_FOR PROPERTY STRINGS ALL HOST)

# sm_90a gives Hopper's own instructions (wgmma, TMA).
function(switchyard_cuda_architectures result)
  set(architectures "80-real;90a-real")
  if(SWITCHYARD_CUDA_FOR STREQUAL "HOST")
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE capability ERROR_QUIET RESULT_VARIABLE failed)
    set(architectures "90a-real")
    if(NOT failed AND capability MATCHES "^([0-9]+)\\.([0-9])" AND NOT capability MATCHES "^9\\.0")
      set(architectures "${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real")
    endif()
  endif()
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()

# The major version of the CUDA runtime that LibTorch needs, read from the names inside the smallest library that does.
function(switchyard_libtorch_cuda_major result)
  file(STRINGS "${SWITCHYARD_LIBTORCH_LIB}/libc10_cuda.so" names REGEX "libcudart[-.0-9a-f]*\\.so\\.[0-9]+")
  if(names MATCHES "libcudart[-.0-9a-f]*\\.so\\.([0-9]+)")
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# A macro, since enable_language() has to be called from the top of a file.
macro(switchyard_enable_cuda)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    switchyard_cuda_architectures(CMAKE_CUDA_ARCHITECTURES)
  endif()
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  # check_language() tests nothing when it finds CMAKE_CUDA_COMPILER set, even to what an earlier run did not find.
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
    set(ENV{CUDACXX} "${SWITCHYARD_NVCC}")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  switchyard_libtorch_cuda_major(libtorch_cuda)
  if(NOT CMAKE_CUDA_COMPILER)
    set(SWITCHYARD_CUDA_REASON "${SWITCHYARD_NVCC} does not compile with ${CMAKE_CXX_COMPILER}")
  else()
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
      set(SWITCHYARD_CUDA_REASON "nvcc is ${CMAKE_CUDA_COMPILER_VERSION}; C++20 needs 12.0 or newer")
    elseif(libtorch_cuda AND NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^${libtorch_cuda}\\.")
      set(SWITCHYARD_CUDA_REASON
        "nvcc is ${CMAKE_CUDA_COMPILER_VERSION}, and LibTorch was built for CUDA ${libtorch_cuda}")
    else()
      set(SWITCHYARD_CUDA_ENABLED ON)
    endif()
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it of nvcc 12 and 13
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
  endif()
endmacro()

find_program(SWITCHYARD_NVCC NAMES nvcc
  HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
mark_as_advanced(SWITCHYARD_NVCC)
set(SWITCHYARD_CUDA_ENABLED OFF)
set(SWITCHYARD_CUDA_REASON "")
if(SWITCHYARD_CUDA STREQUAL "OFF")
  set(SWITCHYARD_CUDA_REASON "SWITCHYARD_CUDA is OFF")
elseif(NOT EXISTS "${SWITCHYARD_LIBTORCH_LIB}/libc10_cuda.so")
  set(SWITCHYARD_CUDA_REASON "LibTorch in ${SWITCHYARD_LIBTORCH_ROOT} was built without CUDA")
elseif(NOT SWITCHYARD_NVCC)
  set(SWITCHYARD_CUDA_REASON "no nvcc was found (on PATH, in CUDA_HOME or in /usr/local/cuda)")
else()
  switchyard_enable_cuda()
endif()
if(SWITCHYARD_CUDA STREQUAL "ON" AND NOT SWITCHYARD_CUDA_ENABLED)
  message(FATAL_ERROR "SWITCHYARD_CUDA is ON, but ${SWITCHYARD_CUDA_REASON}.")
endif()

if(SWITCHYARD_CUDA_ENABLED AND NOT TARGET switchyard::libtorch_cuda)
  find_package(CUDAToolkit REQUIRED)
  add_library(switchyard::libtorch_cuda SHARED IMPORTED GLOBAL)
  set_target_properties(switchyard::libtorch_cuda PROPERTIES
    IMPORTED_LOCATION "${SWITCHYARD_LIBTORCH_LIB}/libc10_cuda.so"
    INTERFACE_INCLUDE_DIRECTORIES "${CUDAToolkit_INCLUDE_DIRS}"
    INTERFACE_LINK_LIBRARIES switchyard::libtorch)
endif()
