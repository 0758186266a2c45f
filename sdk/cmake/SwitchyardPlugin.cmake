# switchyard_add_plugin(NAME MANIFEST plugin.toml SOURCES a.cpp ... [CUDA_SOURCES k.cu ...] [CUDA_WRAPPERS w.cpp ...]
#                       [DEPS targets...] [NO_INSTALL])
# switchyard_add_plugin(NAME STABLE MANIFEST plugin.toml SOURCES a.c ... [DEPS targets...] [NO_INSTALL])
#
# The only way to make a plugin, inside this project and outside it (after find_package(Switchyard)). Makes
#   libNAME.so       from SOURCES and what switchyard-manifest generates from MANIFEST. It exports exactly one symbol,
#                    switchyard_plugin_v1, and loads on every host.
#   libNAME_cuda.so  beside it, from CUDA_SOURCES (kernels with plain C++ launchers, no LibTorch headers) and
#                    CUDA_WRAPPERS (C++ with LibTorch), exporting switchyard_plugin_cuda_v1. Opened by the first only
#                    when a component is created for a CUDA device (<switchyard/sdk/cuda/part.h>). Left out where there is
#                    no nvcc; SWITCHYARD_PLUGIN_CUDA, 0 or 1, tells the first.
# STABLE: a plugin of the stable tier (docs/abi.md), in C or C++, whose plugin.toml says tier = "stable". libNAME.so
# exports switchyard_stable_plugin_v1, which one of SOURCES defines. It is linked with nothing of LibTorch: what it calls
# of LibTorch's C functions is found in the host when it is loaded.
# DEPS are libraries of the plugin's own. MANIFEST is relative to the current folder; headers that it names are looked
# for there. Where the result goes: lib/switchyard/plugins in this project's build tree, else the current binary folder;
# `cmake --install` puts it into lib/switchyard/plugins, where a Switchyard of the same prefix finds it.

# What both tiers have in common: where it is put, and that it exports one symbol.
function(switchyard_export_one target symbol)
  set_target_properties(${target} PROPERTIES
    PREFIX lib
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  if(SWITCHYARD_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${SWITCHYARD_PLUGIN_OUTPUT_DIRECTORY}")
  else()
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" ${SWITCHYARD_SDK_INCLUDE})
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: ${symbol}; local: *; };\n")
  target_link_options(${target} PRIVATE -Wl,--enable-new-dtags -Wl,-z,now -Wl,--exclude-libs,ALL
    "-Wl,--version-script=${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
  # Unique symbols would be shared between plugins, whatever their visibility, and pin the library. Clang makes none.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>")
endfunction()

function(switchyard_configure_plugin_library target symbol)
  switchyard_export_one(${target} ${symbol})
  if(NOT CMAKE_INSTALL_RPATH)
    set_target_properties(${target} PROPERTIES
      INSTALL_RPATH "${SWITCHYARD_LIBTORCH_LIB}" BUILD_WITH_INSTALL_RPATH ON)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fopenmp>")
  target_link_options(${target} PRIVATE -fopenmp)
  if(NOT SWITCHYARD_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  target_link_libraries(${target} PRIVATE switchyard::reference switchyard::libtorch)
endfunction()

# `tier`: native, which needs the build of LibTorch, or stable, whose source is C where that language is there.
function(switchyard_generate_manifest result name manifest tier)
  cmake_path(ABSOLUTE_PATH manifest BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set(ending cpp)
  set(libtorch --libtorch "${SWITCHYARD_LIBTORCH_LIB}")
  set(libraries "${SWITCHYARD_LIBTORCH_LIB}/libtorch_cpu.so")
  if(tier STREQUAL "stable")
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if("C" IN_LIST languages)
      set(ending c)
    endif()
    set(libtorch "")
    set(libraries "")
  endif()
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/${name}_manifest.${ending}")
  add_custom_command(OUTPUT "${generated}"
    COMMAND switchyard::manifest --manifest "${manifest}" --name "${name}" --tier ${tier} ${libtorch} --output "${generated}"
    DEPENDS "${manifest}" switchyard::manifest ${libraries}
    COMMENT "Reading the manifest of plugin ${name}"
    COMMAND_EXPAND_LISTS VERBATIM)
  set(${result} "${generated}" PARENT_SCOPE)
endfunction()

function(switchyard_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STABLE;NO_INSTALL" "MANIFEST" "SOURCES;CUDA_SOURCES;CUDA_WRAPPERS;DEPS")
  if(NOT arg_MANIFEST OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "switchyard_add_plugin(${name}) needs MANIFEST and SOURCES"
      " (not understood: '${arg_UNPARSED_ARGUMENTS}').")
  endif()
  if(NOT TARGET switchyard::manifest)
    message(STATUS "Plugin ${name} left out: the program switchyard-manifest is not part of this build")
    return()
  endif()
  if(arg_STABLE)
    if(arg_CUDA_SOURCES OR arg_CUDA_WRAPPERS)
      message(FATAL_ERROR "switchyard_add_plugin(${name} STABLE): CUDA_SOURCES and CUDA_WRAPPERS are linked with LibTorch's "
        "C++ libraries; leave out STABLE, or build the kernels in a library of your own and name it in DEPS.")
    endif()
    switchyard_generate_manifest(generated "${name}" "${arg_MANIFEST}" stable)
    add_library(${name} MODULE ${arg_SOURCES} "${generated}")
    switchyard_export_one(${name} switchyard_stable_plugin_v1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
    target_link_libraries(${name} PRIVATE ${arg_DEPS})
    set_property(GLOBAL APPEND PROPERTY SWITCHYARD_PLUGINS ${name})
    if(NOT arg_NO_INSTALL)
      install(TARGETS ${name} LIBRARY DESTINATION "${SWITCHYARD_PLUGIN_DIR}")
    endif()
    return()
  endif()
  set(cuda OFF)
  if((arg_CUDA_SOURCES OR arg_CUDA_WRAPPERS) AND SWITCHYARD_CUDA_ENABLED)
    set(cuda ON)
  elseif(arg_CUDA_SOURCES OR arg_CUDA_WRAPPERS)
    message(STATUS "Plugin ${name}: CUDA part left out: ${SWITCHYARD_CUDA_REASON}")
  endif()

  switchyard_generate_manifest(generated "${name}" "${arg_MANIFEST}" native)
  add_library(${name} MODULE ${arg_SOURCES} "${generated}")
  switchyard_configure_plugin_library(${name} switchyard_plugin_v1)
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_compile_definitions(${name} PRIVATE "SWITCHYARD_PLUGIN_CUDA=$<BOOL:${cuda}>")
  set(targets ${name})

  if(cuda)
    add_library(${name}_cuda MODULE ${arg_CUDA_SOURCES} ${arg_CUDA_WRAPPERS})
    switchyard_configure_plugin_library(${name}_cuda switchyard_plugin_cuda_v1)
    # The shared CUDA runtime is the one that LibTorch has loaded.
    set_target_properties(${name}_cuda PROPERTIES
      CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Shared LINKER_LANGUAGE CXX)
    target_compile_options(${name}_cuda PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--threads=2;--expt-relaxed-constexpr>")
    target_link_libraries(${name}_cuda PRIVATE switchyard::libtorch_cuda)
    add_dependencies(${name} ${name}_cuda)
    list(APPEND targets ${name}_cuda)
  endif()
  set_property(GLOBAL APPEND PROPERTY SWITCHYARD_PLUGINS ${targets})
  if(NOT arg_NO_INSTALL)
    install(TARGETS ${targets} LIBRARY DESTINATION "${SWITCHYARD_PLUGIN_DIR}")
  endif()
endfunction()
