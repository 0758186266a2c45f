#include <switchyard/base/read_text.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <switchyard/base/input_error.h>

namespace switchyard::base {

std::optional<std::string> read_text(const std::string& file) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return std::nullopt;
    if (std::filesystem::is_directory(file, ignored))
        throw InputError(file + ": error: is a folder; expected a file");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InputError(file + ": error: cannot be read: " + std::strerror(errno));
    std::string text(std::istreambuf_iterator<char>(stream), {});
    if (stream.bad()) throw InputError(file + ": error: cannot be read to its end");
    return text;
}

}  // namespace switchyard::base
