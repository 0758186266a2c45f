// Writes a safetensors file that the reference implementation reads: atomically (base/atomic_file.h), tensors
// ordered by falling element size so that every one is aligned, the header padded to a multiple of 8.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/base/atomic_file.h"

namespace switchyard::model {

struct TensorToStore {
    std::string name;
    std::string_view type;  // a name of the format: "F32", "BF16", ...
    std::vector<std::int64_t> shape;
    const void* data = nullptr;  // contiguous, row-major
    std::uint64_t bytes = 0;
};

// Throws std::invalid_argument for two tensors of one name or bytes that do not fit type and shape: bugs of
// the caller.
base::FileError write_safetensors(const std::string& path, std::vector<TensorToStore> tensors,
                                  const std::map<std::string, std::string>& metadata = {});

}  // namespace switchyard::model
