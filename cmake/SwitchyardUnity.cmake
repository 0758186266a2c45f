# Compiles several sources of core together, since most of what a source costs is what it includes. A source stays one
# that compiles by itself: the presets with sanitizers and the fuzzers build without (SWITCHYARD_UNITY=OFF). Left alone
# are tests, whose helpers have the same names in many of them, plugins, whose kernels include themselves once for each
# instruction set, and sources with flags of their own (these CMake leaves out by itself).
option(SWITCHYARD_UNITY "Compile several sources of core together" ON)
if(NOT SWITCHYARD_UNITY)
  return()
endif()

function(switchyard_unite_folder folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(own ${target} UNITY_BUILD)  # OFF where a folder said so
    if(type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$" AND NOT "${own}" STREQUAL "OFF")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
      # g++ takes a class of one source for one of a header that several include.
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>")
    endif()
  endforeach()
endfunction()

get_property(folders DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTY SUBDIRECTORIES)
foreach(folder IN LISTS folders)
  if(folder MATCHES "/core/[a-z]+$")
    switchyard_unite_folder("${folder}")
  endif()
endforeach()
