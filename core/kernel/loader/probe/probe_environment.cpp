#include "core/kernel/loader/probe/probe_environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace switchyard::loader {

namespace {

constexpr std::array<std::string_view, 14> names{
    "PATH",  "HOME", "USER",     "LOGNAME",        "TMPDIR",          "LANG",      "LANGUAGE", "TZ",
    "TZDIR", "TERM", "NO_COLOR", "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "LD_PRELOAD"};

// Of the loader, of thread pools, of math libraries, of LibTorch, of drivers, of sanitizers and coverage.
constexpr std::array<std::string_view, 23> prefixes{
    "SWITCHYARD_", "LC_",     "GLIBC_",  "MALLOC_", "OMP_",   "GOMP_",    "KMP_",         "MKL_",
    "OPENBLAS_",   "DNNL_",   "ONEDNN_", "ATEN_",   "TORCH_", "PYTORCH_", "CUDA_",        "CUBLAS_",
    "CUDNN_",      "NVIDIA_", "ASAN_",   "UBSAN_",  "TSAN_",  "LSAN_",    "LLVM_PROFILE_"};

constexpr std::string_view more = "SWITCHYARD_PROBE_ENVIRONMENT=";

bool is_listed(std::string_view name, std::string_view list) {
    while (!list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        if (list.substr(0, comma) == name) return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

bool is_passed_on(std::string_view variable, std::string_view listed) {
    const auto name = variable.substr(0, variable.find('='));
    return std::find(names.begin(), names.end(), name) != names.end() ||
           std::any_of(prefixes.begin(), prefixes.end(),
                       [&](auto prefix) { return name.starts_with(prefix); }) ||
           is_listed(name, listed);
}

}  // namespace

std::vector<std::string> probe_environment(const char* const* environment) {
    std::string_view listed;
    for (const char* const* at = environment; *at != nullptr; ++at) {
        if (const std::string_view variable = *at; variable.starts_with(more))
            listed = variable.substr(more.size());
    }
    std::vector<std::string> kept;
    for (const char* const* at = environment; *at != nullptr; ++at) {
        if (is_passed_on(*at, listed)) kept.emplace_back(*at);
    }
    return kept;
}

std::string loader_variables() {
    std::string text;
    for (const char* variable : {"LD_LIBRARY_PATH", "LD_PRELOAD"}) {
        const char* value = std::getenv(variable);
        text += std::string(variable) + "=" + (value == nullptr ? "" : value) + "\n";
    }
    return text;
}

}  // namespace switchyard::loader
