#include "core/kernel/trust/plugin_content.h"

#include <filesystem>

#include "core/kernel/base/printable.h"
#include "core/kernel/trust/ed25519.h"

namespace switchyard::trust {

namespace fs = std::filesystem;

std::string cuda_part_of(const std::string& library) {
    const fs::path path(library);
    return (path.parent_path() / (path.stem().string() + "_cuda" + path.extension().string())).string();
}

PluginContent content_of(const std::string& library) {
    PluginContent content{sha256_of_file(library), {}};
    const auto cuda = cuda_part_of(library);
    std::error_code error;
    if (!fs::exists(cuda, error) && !error) return content;
    content.cuda = sha256_of_file(cuda);
    if (content.cuda.empty()) content.library.clear();  // half of it is not known
    return content;
}

std::string to_text(const PluginContent& content) {
    return "sha256:" + base::quoted(content.library) +
           (content.cuda.empty() ? "" : " and, for CUDA, sha256:" + base::quoted(content.cuda));
}

}  // namespace switchyard::trust
