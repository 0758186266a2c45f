# Finds LibTorch and makes the imported target switchyard::libtorch. Used by the build and by the installed package.
#
# Taken, in this order: SWITCHYARD_LIBTORCH (a folder that has include/ and lib/), a LibTorch under
# CMAKE_PREFIX_PATH, the one that `./dev setup` has put into .deps/wheels. `find_package(Torch)` is not used: that of
# a wheel built with CUDA enables the CUDA language, and fails where there is no nvcc.

set(SWITCHYARD_LIBTORCH_MINIMUM 2.10)

function(switchyard_find_libtorch result)
  set(candidates ${SWITCHYARD_LIBTORCH})
  string(REPLACE ":" ";" prefixes "$ENV{CMAKE_PREFIX_PATH}")
  foreach(prefix IN LISTS CMAKE_PREFIX_PATH prefixes)
    # The archive itself, a site-packages folder, and what torch.utils.cmake_prefix_path prints.
    list(APPEND candidates "${prefix}" "${prefix}/torch" "${prefix}/libtorch" "${prefix}/../..")
  endforeach()
  if(SWITCHYARD_DEPS)
    list(APPEND candidates "${SWITCHYARD_DEPS}/wheels/torch")
  endif()
  foreach(candidate IN LISTS candidates)
    if(EXISTS "${candidate}/lib/libtorch_cpu.so" AND EXISTS "${candidate}/include/ATen/core/Tensor.h")
      get_filename_component(candidate "${candidate}" REALPATH)
      set(${result} "${candidate}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN candidates "\n  " looked)
  set(what_to_do "Name a LibTorch ${SWITCHYARD_LIBTORCH_MINIMUM} or newer with -DCMAKE_PREFIX_PATH=/path/to/libtorch")
  if(PROJECT_NAME STREQUAL "Switchyard")
    string(APPEND what_to_do ", or run `./dev setup`.")
  else()
    string(APPEND what_to_do " or the environment variable SWITCHYARD_LIBTORCH.")
  endif()
  message(FATAL_ERROR "LibTorch was not found. Looked for lib/libtorch_cpu.so and include/ATen in\n  ${looked}\n"
    "${what_to_do}")
endfunction()

function(switchyard_libtorch_version root result)
  foreach(header IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${root}/include/${header}")
      file(STRINGS "${root}/include/${header}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
      string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
      list(JOIN numbers "." version)
      set(${result} "${version}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "0" PARENT_SCOPE)
endfunction()

if(DEFINED ENV{SWITCHYARD_DEPS})
  set(SWITCHYARD_DEPS "$ENV{SWITCHYARD_DEPS}" CACHE PATH "Where ./dev setup unpacked LibTorch" FORCE)
elseif(PROJECT_NAME STREQUAL "Switchyard")
  set(SWITCHYARD_DEPS "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "Where ./dev setup unpacked LibTorch")
endif()
switchyard_find_libtorch(SWITCHYARD_LIBTORCH_ROOT)
switchyard_libtorch_version("${SWITCHYARD_LIBTORCH_ROOT}" SWITCHYARD_LIBTORCH_VERSION)
if(SWITCHYARD_LIBTORCH_VERSION VERSION_LESS SWITCHYARD_LIBTORCH_MINIMUM)
  message(FATAL_ERROR "LibTorch in ${SWITCHYARD_LIBTORCH_ROOT} is ${SWITCHYARD_LIBTORCH_VERSION}; expected "
    "${SWITCHYARD_LIBTORCH_MINIMUM} or newer. Take another with -DCMAKE_PREFIX_PATH=/path/to/libtorch.")
endif()
set(SWITCHYARD_LIBTORCH_LIB "${SWITCHYARD_LIBTORCH_ROOT}/lib")

if(NOT TARGET switchyard::libtorch)
  add_library(switchyard::c10 SHARED IMPORTED GLOBAL)
  set_target_properties(switchyard::c10 PROPERTIES IMPORTED_LOCATION "${SWITCHYARD_LIBTORCH_LIB}/libc10.so")
  add_library(switchyard::libtorch SHARED IMPORTED GLOBAL)
  set_target_properties(switchyard::libtorch PROPERTIES
    IMPORTED_LOCATION "${SWITCHYARD_LIBTORCH_LIB}/libtorch_cpu.so"
    INTERFACE_INCLUDE_DIRECTORIES
      "${SWITCHYARD_LIBTORCH_ROOT}/include;${SWITCHYARD_LIBTORCH_ROOT}/include/torch/csrc/api/include"
    # With per-operator headers <ATen/TensorOperators.h> and others include what they use instead of every operator.
    # LibTorch is compiled with NDEBUG, without which its headers have further members in classes that both sides share
    # (ATen/record_function.h, ATen/core/dispatch/Dispatcher.h): a build for debugging needs it too.
    INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=1;AT_PER_OPERATOR_HEADERS;\
$<$<NOT:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:NDEBUG>"
    # Without -fopenmp at::parallel_for, which is inlined from a header, runs serially and does not say so.
    INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:-fopenmp>"
    # What LibTorch's libraries need is found by their own paths when the program starts, not here.
    INTERFACE_LINK_OPTIONS "-fopenmp;-Wl,--allow-shlib-undefined"
    INTERFACE_LINK_LIBRARIES switchyard::c10)
endif()
