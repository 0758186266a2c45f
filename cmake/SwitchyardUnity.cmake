# Compiles several sources of a target together, since most of what a source costs is what it includes: 2 s of
# LibTorch's headers for a test, precompiled ones too. A source stays one that compiles by itself: the preset debug,
# which .ci/nightly builds, and the fuzzers build without (SWITCHYARD_UNITY=OFF), and so do plugins outside this tree.
# Left alone are sources with flags of their own (these CMake leaves out by itself), kernels, which include themselves
# once for each instruction set, and those that switchyard_compile_alone names: others of their target have the same
# names in them.
option(SWITCHYARD_UNITY "Compile several sources of a target together" ON)

function(switchyard_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(switchyard_leave_kernels_alone target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    if(source MATCHES "\\.cpp$" AND EXISTS "${source}")
      file(STRINGS "${source}" kernel REGEX "hwy/foreach_target" LIMIT_COUNT 1)
      if(kernel)
        set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

# So many at once that what they include is a small part, and that a touched one is soon compiled again.
function(switchyard_unite_folder folder)
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    switchyard_unite_folder("${below}")
  endforeach()
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(own ${target} UNITY_BUILD)  # OFF where a folder said so
    if(type MATCHES "^(STATIC_LIBRARY|MODULE_LIBRARY|EXECUTABLE)$" AND NOT "${own}" STREQUAL "OFF")
      if(type STREQUAL MODULE_LIBRARY)
        switchyard_leave_kernels_alone(${target})
      endif()
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
      # g++ takes a class of one source for one of a header that several include.
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>")
    endif()
  endforeach()
endfunction()

# To be called when all targets are there.
function(switchyard_unite)
  if(SWITCHYARD_UNITY)
    switchyard_unite_folder("${PROJECT_SOURCE_DIR}")
  endif()
endfunction()
