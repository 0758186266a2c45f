# Finds Arrow C++ with Parquet, which core/workbench/data/parquet reads Parquet files with, and says why not where there
# is none. Sets SWITCHYARD_PARQUET_ENABLED, with switchyard::arrow_parquet, SWITCHYARD_ARROW_VERSION and
# SWITCHYARD_ARROW_LIB, the folder of its libraries; or SWITCHYARD_PARQUET_REASON.
#
# Taken, in this order: SWITCHYARD_ARROW (a folder as the wheel of pyarrow has it: include/, and the libraries beside it
# or in lib/), the wheel that `./dev setup --parquet` has put into .deps/wheels, an Arrow in the system's folders.

set(SWITCHYARD_PARQUET AUTO CACHE STRING "Read Parquet: AUTO (where Arrow C++ is found), ON (fail without), OFF")
set_property(CACHE SWITCHYARD_PARQUET PROPERTY STRINGS AUTO ON OFF)
set(SWITCHYARD_ARROW_MINIMUM 23)
set(SWITCHYARD_INSTALLED_ARROW "" CACHE STRING
  "Where Arrow's libraries will be for what is installed, if not where they are now ($ORIGIN/... may be used)")

# The library lib/NAME.so.VERSION (or NAME.so) of a folder; empty: it has none.
function(switchyard_library_in root name result)
  file(GLOB found "${root}/lib${name}.so.[0-9]*" "${root}/lib/lib${name}.so.[0-9]*"
    "${root}/lib${name}.so" "${root}/lib/lib${name}.so")
  if(found)
    list(GET found 0 found)
    get_filename_component(found "${found}" REALPATH)
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Sets include, arrow and parquet; include is empty where there is no Arrow.
macro(switchyard_find_arrow)
  set(include "")
  foreach(root IN ITEMS "${SWITCHYARD_ARROW}" "${SWITCHYARD_DEPS}/wheels/pyarrow")
    if(NOT include AND root AND EXISTS "${root}/include/parquet/column_reader.h")
      switchyard_library_in("${root}" arrow arrow)
      switchyard_library_in("${root}" parquet parquet)
      if(arrow AND parquet)
        set(include "${root}/include")
      endif()
    endif()
  endforeach()
  if(NOT include)
    find_path(SWITCHYARD_arrow_INCLUDE parquet/column_reader.h)
    find_library(SWITCHYARD_arrow_LIBRARY arrow)
    find_library(SWITCHYARD_parquet_LIBRARY parquet)
    mark_as_advanced(SWITCHYARD_arrow_INCLUDE SWITCHYARD_arrow_LIBRARY SWITCHYARD_parquet_LIBRARY)
    if(SWITCHYARD_arrow_INCLUDE AND SWITCHYARD_arrow_LIBRARY AND SWITCHYARD_parquet_LIBRARY)
      set(include "${SWITCHYARD_arrow_INCLUDE}")
      set(arrow "${SWITCHYARD_arrow_LIBRARY}")
      set(parquet "${SWITCHYARD_parquet_LIBRARY}")
    endif()
  endif()
endmacro()

set(SWITCHYARD_PARQUET_ENABLED OFF)
set(SWITCHYARD_PARQUET_REASON "")
if(SWITCHYARD_PARQUET STREQUAL "OFF")
  set(SWITCHYARD_PARQUET_REASON "SWITCHYARD_PARQUET is OFF")
else()
  switchyard_find_arrow()
  if(NOT include)
    set(SWITCHYARD_PARQUET_REASON "no Arrow C++ was found (`./dev setup --parquet` brings it)")
  else()
    file(STRINGS "${include}/arrow/util/config.h" version REGEX "define ARROW_VERSION_STRING ")
    string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" SWITCHYARD_ARROW_VERSION "${version}")
    # The names of functions that take a std::string of the newer ABI, which all of Switchyard is built with.
    file(STRINGS "${parquet}" newer_abi REGEX "__cxx11" LIMIT_COUNT 1)
    get_filename_component(SWITCHYARD_ARROW_LIB "${parquet}" DIRECTORY)
    if(SWITCHYARD_ARROW_VERSION VERSION_LESS SWITCHYARD_ARROW_MINIMUM)
      set(SWITCHYARD_PARQUET_REASON "Arrow in ${SWITCHYARD_ARROW_LIB} is ${SWITCHYARD_ARROW_VERSION}; \
expected ${SWITCHYARD_ARROW_MINIMUM} or newer")
    elseif(NOT newer_abi)
      set(SWITCHYARD_PARQUET_REASON
        "Arrow in ${SWITCHYARD_ARROW_LIB} was built with _GLIBCXX_USE_CXX11_ABI=0; expected 1")
    else()
      set(SWITCHYARD_PARQUET_ENABLED ON)
    endif()
  endif()
endif()
if(SWITCHYARD_PARQUET STREQUAL "ON" AND NOT SWITCHYARD_PARQUET_ENABLED)
  message(FATAL_ERROR "SWITCHYARD_PARQUET is ON, but ${SWITCHYARD_PARQUET_REASON}.")
endif()

if(SWITCHYARD_PARQUET_ENABLED)
  # The system's own folders are searched anyway.
  set(SWITCHYARD_ARROW_RUN_PATH "${SWITCHYARD_INSTALLED_ARROW}")
  if(NOT SWITCHYARD_ARROW_RUN_PATH AND NOT parquet STREQUAL "${SWITCHYARD_parquet_LIBRARY}")
    set(SWITCHYARD_ARROW_RUN_PATH "${SWITCHYARD_ARROW_LIB}")
  endif()
  add_library(switchyard::arrow SHARED IMPORTED GLOBAL)
  set_target_properties(switchyard::arrow PROPERTIES IMPORTED_LOCATION "${arrow}")
  add_library(switchyard::arrow_parquet SHARED IMPORTED GLOBAL)
  set_target_properties(switchyard::arrow_parquet PROPERTIES
    IMPORTED_LOCATION "${parquet}"
    INTERFACE_INCLUDE_DIRECTORIES "${include}"
    INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=1"
    INTERFACE_LINK_LIBRARIES switchyard::arrow)
endif()
