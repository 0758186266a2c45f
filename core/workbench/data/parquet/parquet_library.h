// The library that reads Parquet (parquet_table.h): lib/switchyard/libswitchyard_parquet.so, where the build
// found Arrow C++.
#pragma once

#include <string>

#include "core/workbench/data/parquet/parquet_table.h"

namespace switchyard::data {

// Where it is, or should be; empty: this build has none.
std::string parquet_library();

struct LoadedParquet {
    OpenParquet* open = nullptr;
    std::string error;  // set if open is nullptr
};

// For the rest of the process.
LoadedParquet load_parquet(const std::string& library);

}  // namespace switchyard::data
