# Settings that hold for every target: language, flags, linker, compiler cache, and where things are built.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
set(SWITCHYARD_SANITIZE OFF CACHE STRING "Build with sanitizers: OFF, address (undefined behaviour too) or thread")
option(SWITCHYARD_FUZZ "Build with both sanitizers and with libFuzzer's coverage: for tests/fuzz, with clang" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-unknown-pragmas>")
# One that g++ 12 gives for correct joins of std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
endif()
# Two warnings that g++ 13 gives for correct code, inside its own library and for functions that return references.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow;-Wno-dangling-reference>")
endif()
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Debug>>:-D_GLIBCXX_ASSERTIONS>")
# DT_RUNPATH, not DT_RPATH: what LibTorch's own libraries need is found by their own paths.
add_link_options(-Wl,--enable-new-dtags)

if(SWITCHYARD_SANITIZE)
  if(SWITCHYARD_SANITIZE STREQUAL "thread")
    set(sanitizers thread)
  else()
    set(sanitizers address,undefined)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers};-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${sanitizers})
endif()

if(SWITCHYARD_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SWITCHYARD_FUZZ needs clang, which has libFuzzer; this is ${CMAKE_CXX_COMPILER}. Run `./dev fuzz`.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-missing-field-initializers -Wno-missing-braces)
  add_link_options(-fsanitize=address,undefined)
endif()

# Linked by GNU ld, the compiler's default. lld and mold of before September 2026 are faster, but where g++ leaves an empty
# function before another one, exceptions do not find the other's handlers and end the program (llvm-project#218124, mold#1648).
find_program(SWITCHYARD_CCACHE NAMES ccache)
if(SWITCHYARD_CCACHE)
  # What ccache wants to know before it remembers what a precompiled header took part in.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${SWITCHYARD_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
  endif()
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${SWITCHYARD_CCACHE}")
endif()

# The build tree has the folders of the installed tree, so that programs find plugins the same way in both.
include(GNUInstallDirs)
set(CMAKE_INSTALL_LIBDIR lib)
set(SWITCHYARD_LIBEXEC_DIR libexec/switchyard)
set(SWITCHYARD_PLUGIN_DIR lib/switchyard/plugins)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(SWITCHYARD_PLUGIN_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${SWITCHYARD_PLUGIN_DIR}")
