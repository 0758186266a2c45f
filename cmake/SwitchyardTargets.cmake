# How a folder takes part in the build. Give it a CMakeLists.txt (core/kernel/NAME, core/workbench/NAME, sdk/NAME,
# plugins/NAME or tests/NAME) that lists its sources explicitly:
#
#   switchyard_library(switchyard_resolver SOURCES resolver.cpp plan.cpp DEPS switchyard_config)
#       A static library. Called again with the same name, it adds sources: so do the folders that share
#       switchyard_config. SDK marks one that plugins link too: it sees only the SDK's headers, and is installed.
#   switchyard_program(switchyard-probe SOURCES probe_main.cpp DEPS switchyard_runtime LIBEXEC)
#       A program, in bin/ or (LIBEXEC) libexec/switchyard/; installed. The latter is also called switchyard::probe.
#   switchyard_loaded_library(switchyard_parquet SOURCES arrow_table.cpp DEPS ... RUN_PATH folder)
#       A shared library that a program loads only when it needs it, in lib/switchyard/; installed. It finds what it
#       links in this folder alone.
#   switchyard_test(resolver SOURCES choose_test.cpp DEPS switchyard_resolver [LABELS slow] [TIMEOUT 300] [COST 60]
#                   [PLAIN_MALLOC] [COLD])
#       In tests/: one Catch2 program, one entry for ctest. tests/README.md has the rest. PLAIN_MALLOC: it looks at memory
#       that malloc has, and is not given large pages. COLD: it begins with nothing known of the plugins.
#   switchyard_test_library(switchyard_test_program SOURCES ... DEPS ...) for what several test programs share.
#   switchyard_script_test(install SCRIPT run.sh) for a test that is no C++ program.
#   switchyard_add_plugin(naive MANIFEST plugin.toml SOURCES attention.cpp ...)
#       In plugins/NAME, and outside this tree: see sdk/cmake/SwitchyardPlugin.cmake.
#
# DEPS are targets of ours (switchyard_...) or imported ones: switchyard::libtorch, tomlplusplus, json, cli11,
# boost_dll, xxhash, sodium, highway, spdlog (all switchyard::). Published headers are <switchyard/FOLDER/file.h>, in core/include
# and sdk/include; all others are "core/kernel/FOLDER/file.h", the path from the root.

# LibTorch is found by its absolute path, in the build tree and once installed, and nothing else is searched.
set(SWITCHYARD_INSTALLED_LIBTORCH "" CACHE STRING
  "Where LibTorch's lib/ will be for what is installed, if not where it is now ($ORIGIN/... may be used)")
if(SWITCHYARD_INSTALLED_LIBTORCH)
  set(CMAKE_INSTALL_RPATH "${SWITCHYARD_INSTALLED_LIBTORCH}")
else()
  set(CMAKE_INSTALL_RPATH "${SWITCHYARD_LIBTORCH_LIB}")
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
endif()

# What may be included: plugins and the SDK's libraries see what is published, core and its tests the rest as well, by
# its path from here ("core/kernel/config/config.h").
set(SWITCHYARD_SDK_INCLUDE "${PROJECT_SOURCE_DIR}/core/include" "${PROJECT_SOURCE_DIR}/sdk/include")
set(SWITCHYARD_CORE_INCLUDE "${PROJECT_SOURCE_DIR}" ${SWITCHYARD_SDK_INCLUDE})

macro(switchyard_add_folder folder)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/obj/${folder}")
  endif()
endmacro()

# For code that nobody waits for while it runs: of more than this only the compiler has work, half as much again.
set(SWITCHYARD_LESS_OPTIMISED "$<$<CONFIG:Release>:-O1>")
# From g++ 13 on, -O2 sets options that have to be as they were for the precompiled headers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
    AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND SWITCHYARD_LESS_OPTIMISED "$<$<CONFIG:Release>:-munroll-only-small-loops;-mvzeroupper>")
endif()

function(switchyard_absolute_sources result)
  set(absolute "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND absolute "${source}")
  endforeach()
  set(${result} "${absolute}" PARENT_SCOPE)
endfunction()

function(switchyard_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SDK" "" "SOURCES;DEPS")
  switchyard_absolute_sources(sources ${arg_SOURCES})
  if(NOT TARGET ${name})
    add_library(${name} STATIC)
    string(REGEX REPLACE "^switchyard_" "" short "${name}")
    add_library(switchyard::${short} ALIAS ${name})
    set_target_properties(${name} PROPERTIES EXPORT_NAME ${short})
    if(arg_SDK)
      target_include_directories(${name} PRIVATE ${SWITCHYARD_SDK_INCLUDE})
      target_include_directories(${name} INTERFACE "$<INSTALL_INTERFACE:include>")
      set_property(GLOBAL APPEND PROPERTY SWITCHYARD_SDK_LIBRARIES ${name})
    else()
      target_include_directories(${name} PRIVATE ${SWITCHYARD_CORE_INCLUDE})
    endif()
    set_property(GLOBAL APPEND PROPERTY SWITCHYARD_TARGETS ${name})
  endif()
  target_sources(${name} PRIVATE ${sources})
  target_link_libraries(${name} PUBLIC ${arg_DEPS})
endfunction()

function(switchyard_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LIBEXEC" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${SWITCHYARD_CORE_INCLUDE})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  set(folder bin)
  if(arg_LIBEXEC)
    set(folder "${SWITCHYARD_LIBEXEC_DIR}")
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  if(arg_LIBEXEC)
    string(REGEX REPLACE "^switchyard-" "" short "${name}")
    add_executable(switchyard::${short} ALIAS ${name})
    set_target_properties(${name} PROPERTIES EXPORT_NAME ${short})
    set_property(GLOBAL APPEND PROPERTY SWITCHYARD_LIBEXEC_PROGRAMS ${name})
    install(TARGETS ${name} EXPORT SwitchyardTargets RUNTIME DESTINATION ${folder})
  else()
    install(TARGETS ${name} RUNTIME DESTINATION ${folder})
  endif()
  set_property(GLOBAL APPEND PROPERTY SWITCHYARD_TARGETS ${name})
endfunction()

function(switchyard_loaded_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RUN_PATH" "SOURCES;DEPS")
  add_library(${name} MODULE ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${SWITCHYARD_CORE_INCLUDE})
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/switchyard" INSTALL_RPATH "${arg_RUN_PATH}")
  install(TARGETS ${name} LIBRARY DESTINATION lib/switchyard)
  set_property(GLOBAL APPEND PROPERTY SWITCHYARD_TARGETS ${name})
endfunction()

# A test whose command is ARGN, and what it finds in its environment: see tests/README.md. Of several at a time, those
# of the largest COST begin: a long one that is left to the end leaves processors without work.
function(switchyard_add_test name timeout labels cost plain_malloc)
  if(NOT timeout)
    set(timeout 3600)  # for what hangs: three times what the longest took on a busy machine
  endif()
  if(SWITCHYARD_SANITIZE) # which makes all slower, beside other work by more than ten times
    math(EXPR timeout "${timeout} * 12")
  endif()
  if(NOT cost)
    set(cost 0)
  endif()
  set(private "${PROJECT_BINARY_DIR}/tests/private/${name}")
  file(MAKE_DIRECTORY "${private}/cache" "${private}/tmp" "${private}/home" "${PROJECT_BINARY_DIR}/tests/records")
  add_test(NAME ${name} COMMAND "${PROJECT_SOURCE_DIR}/tests/support/begin_empty.sh" "${private}" ${ARGN})
  # Crashes and memory that is not there end as they do without a sanitizer: tests look for the signal and the message.
  set(plain_ends "allocator_may_return_null=1:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0")
  # GCC 12 takes a block of thread-local memory whose address is 16 beyond a page for one of glibc 2.19, reads its place and
  # length before it, and looks for pointers there, wherever that is (google/sanitizers#1322). malloc makes these blocks.
  set(asan "${plain_ends}:intercept_tls_get_addr=0")
  # Each start of a program with LibTorch takes 16,000 pages, 3,300 if malloc asks for large ones. A sanitizer brings its
  # own malloc, and elsewhere a large page may have 512 MB.
  set(malloc "")
  if(NOT plain_malloc AND NOT SWITCHYARD_SANITIZE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(malloc "GLIBC_TUNABLES=glibc.malloc.hugetlb=1;")
  endif()
  # Undefined behaviour ends a program, which g++ otherwise lets go on after a message, and its test pass.
  set_tests_properties(${name} PROPERTIES
    TIMEOUT "${timeout}"
    LABELS "${labels}"
    COST "${cost}"
    WORKING_DIRECTORY "${private}/tmp"
    ENVIRONMENT "${malloc}SWITCHYARD_PLUGIN_PATH=${PROJECT_BINARY_DIR}/${SWITCHYARD_PLUGIN_DIR};\
SWITCHYARD_PROBE_TIMEOUT_MS=300000;OMP_NUM_THREADS=1;GOMP_SPINCOUNT=1000;SWITCHYARD_SPIN=short;\
HOME=${private}/home;XDG_CONFIG_HOME=${private}/home/.config;\
XDG_CACHE_HOME=${private}/cache;TMPDIR=${private}/tmp;\
SWITCHYARD_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR};SWITCHYARD_TEST_BUILD_DIR=${PROJECT_BINARY_DIR};\
SWITCHYARD_TEST_RECORD=${PROJECT_BINARY_DIR}/tests/records/${name}.tsv;\
ASAN_OPTIONS=${asan};UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1;\
TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:ignore_noninstrumented_modules=1:history_size=7:\
${plain_ends}")
endfunction()

function(switchyard_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN_MALLOC;COLD" "TIMEOUT;COST" "SOURCES;DEPS;LABELS")
  set(target "switchyard_test_${name}")
  add_executable(${target} EXCLUDE_FROM_ALL ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${name}_test" RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  target_include_directories(${target} PRIVATE ${SWITCHYARD_CORE_INCLUDE} "${PROJECT_SOURCE_DIR}/tests/support")
  target_link_libraries(${target} PRIVATE ${arg_DEPS} switchyard_test_main)
  target_compile_options(${target} PRIVATE -O0)  # what takes time in a test is compiled elsewhere
  add_dependencies(switchyard_tests ${target})
  switchyard_add_test(${name} "${arg_TIMEOUT}" "${arg_LABELS}" "${arg_COST}" "${arg_PLAIN_MALLOC}" "$<TARGET_FILE:${target}>")
  # It starts the program from a process that has LibTorch's start behind it: tests/support/program/warm_program.h.
  if(TARGET switchyard-run AND NOT SWITCHYARD_SANITIZE AND "switchyard_test_program" IN_LIST arg_DEPS)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "SWITCHYARD_TEST_WARM=${PROJECT_BINARY_DIR}/tests/support/libswitchyard_test_warm.so")
  endif()
  # What runs the program needs to know what the plugins are: found out once for all, by tests/support/probe_plugins.sh.
  if(NOT arg_COLD AND "switchyard_test_program" IN_LIST arg_DEPS)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED probed_plugins)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "SWITCHYARD_TEST_PROBED=${PROJECT_BINARY_DIR}/tests/probed")
  endif()
endfunction()

# What several test programs share: a library with the headers beside its sources.
function(switchyard_test_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_include_directories(${name} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}" PRIVATE ${SWITCHYARD_CORE_INCLUDE})
  target_link_libraries(${name} PUBLIC ${arg_DEPS} switchyard_test_main)
endfunction()

function(switchyard_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;TIMEOUT;COST" "ARGUMENTS;LABELS")
  add_custom_target(switchyard_test_${name})  # nothing to build for it: so that `./dev test NAME` takes its name
  switchyard_add_test(${name} "${arg_TIMEOUT}" "${arg_LABELS}" "${arg_COST}" FALSE
    bash "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT}" ${arg_ARGUMENTS})
endfunction()
