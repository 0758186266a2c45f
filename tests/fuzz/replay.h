// The fuzz targets as one program has them, made by CMakeLists.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct Target {
    const char* name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};

extern const std::vector<Target> targets;
