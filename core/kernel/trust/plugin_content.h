// What a plugin consists of, by content: the same wherever it lies.
#pragma once

#include <string>

namespace switchyard::trust {

// SHA-256, hexadecimal.
struct PluginContent {
    std::string library;
    std::string cuda;  // of libNAME_cuda.so beside it, with its kernels for CUDA; empty: there is none

    bool operator==(const PluginContent&) const = default;
};

// `library` of the result is empty if it cannot be read.
PluginContent content_of(const std::string& library);

// libNAME_cuda.so, whether it is there or not.
std::string cuda_part_of(const std::string& library);

// "sha256:0123...", "sha256:0123... and, for CUDA, sha256:4567..."
std::string to_text(const PluginContent& content);

}  // namespace switchyard::trust
