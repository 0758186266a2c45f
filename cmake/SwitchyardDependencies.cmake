# Imported targets for what comes from the system's packages. `./dev setup` installs them.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# switchyard_system_library(NAME HEADER file [LIBRARIES lib...] [DEFINITIONS def...] PACKAGE debian-package)
# makes switchyard::NAME from a header and shared libraries in the usual places.
function(switchyard_system_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;PACKAGE" "LIBRARIES;DEFINITIONS")
  find_path(SWITCHYARD_${name}_INCLUDE "${arg_HEADER}")
  mark_as_advanced(SWITCHYARD_${name}_INCLUDE)
  if(NOT SWITCHYARD_${name}_INCLUDE)
    message(FATAL_ERROR "<${arg_HEADER}> was not found. Run `./dev setup`, or install the package ${arg_PACKAGE}.")
  endif()
  add_library(switchyard::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(switchyard::${name} SYSTEM INTERFACE "${SWITCHYARD_${name}_INCLUDE}")
  target_compile_definitions(switchyard::${name} INTERFACE ${arg_DEFINITIONS})
  foreach(library IN LISTS arg_LIBRARIES)
    find_library(SWITCHYARD_${library}_LIBRARY "${library}")
    mark_as_advanced(SWITCHYARD_${library}_LIBRARY)
    if(NOT SWITCHYARD_${library}_LIBRARY)
      message(FATAL_ERROR "lib${library}.so was not found. Run `./dev setup`, or install ${arg_PACKAGE}.")
    endif()
    target_link_libraries(switchyard::${name} INTERFACE "${SWITCHYARD_${library}_LIBRARY}")
  endforeach()
endfunction()

if(SWITCHYARD_FUZZ)  # compiled here, so that the sanitizers and the fuzzer see what the parser does
  switchyard_system_library(tomlplusplus HEADER toml++/toml.h PACKAGE libtomlplusplus-dev)
else()
  switchyard_system_library(tomlplusplus HEADER toml++/toml.h LIBRARIES tomlplusplus
    DEFINITIONS TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1 PACKAGE libtomlplusplus-dev)
endif()
switchyard_system_library(json HEADER nlohmann/json.hpp PACKAGE nlohmann-json3-dev)
switchyard_system_library(cli11 HEADER CLI/CLI.hpp PACKAGE libcli11-dev)
switchyard_system_library(boost_dll HEADER boost/dll/shared_library.hpp LIBRARIES boost_filesystem
  PACKAGE "libboost-dev and libboost-filesystem-dev")
target_link_libraries(switchyard::boost_dll INTERFACE ${CMAKE_DL_LIBS})
switchyard_system_library(xxhash HEADER xxhash.h LIBRARIES xxhash PACKAGE libxxhash-dev)
switchyard_system_library(sodium HEADER sodium.h LIBRARIES sodium PACKAGE libsodium-dev)
switchyard_system_library(utf8proc HEADER utf8proc.h LIBRARIES utf8proc PACKAGE libutf8proc-dev)
switchyard_system_library(pcre2 HEADER pcre2.h LIBRARIES pcre2-8 PACKAGE libpcre2-dev)
switchyard_system_library(sentencepiece HEADER sentencepiece_processor.h LIBRARIES sentencepiece sentencepiece_train PACKAGE libsentencepiece-dev)
switchyard_system_library(boost_iostreams HEADER boost/iostreams/filtering_stream.hpp LIBRARIES boost_iostreams
  PACKAGE libboost-iostreams-dev)
# Declarations alone, which c10d's headers include: LibTorch has Gloo inside, Debian's library is not linked.
switchyard_system_library(gloo_headers HEADER gloo/algorithm.h DEFINITIONS USE_C10D_GLOO PACKAGE libgloo-dev)
switchyard_system_library(highway HEADER hwy/highway.h LIBRARIES hwy DEFINITIONS HWY_SHARED_DEFINE PACKAGE libhwy-dev)
# LibTorch ships a newer fmt than the one that the system's spdlog is built on: a target that links this one must not
# see LibTorch's headers (switchyard_library checks it).
switchyard_system_library(spdlog HEADER spdlog/spdlog.h LIBRARIES spdlog fmt
  DEFINITIONS SPDLOG_COMPILED_LIB SPDLOG_SHARED_LIB SPDLOG_FMT_EXTERNAL PACKAGE "libspdlog-dev and libfmt-dev")

# Debian 12 has Catch2 2 (one header), Ubuntu 24.04 has Catch2 3 (a library). <switchyard_test.h> hides which.
find_package(Catch2 REQUIRED)
if(NOT TARGET switchyard::catch2)
  add_library(switchyard::catch2 INTERFACE IMPORTED GLOBAL)
  target_link_libraries(switchyard::catch2 INTERFACE Catch2::Catch2)
  if(Catch2_VERSION VERSION_LESS 3)
    target_compile_definitions(switchyard::catch2 INTERFACE SWITCHYARD_CATCH2_V2)
  endif()
endif()
