#include "core/kernel/base/read_text.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/kernel/base/input_error.h"

namespace switchyard::base {

std::optional<std::string> read_text(const std::string& file, std::size_t most) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return std::nullopt;
    if (std::filesystem::is_directory(file, ignored))
        throw InputError(file + ": error: is a folder; expected a file");
    // A FIFO with a name would be waited for; one that a shell hands over, <(...), has its writer already.
    if (std::filesystem::is_fifo(file, ignored) && !file.starts_with("/dev/") && !file.starts_with("/proc/"))
        throw InputError(file + ": error: is a FIFO; expected a file");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InputError(file + ": error: cannot be read: " + std::strerror(errno));
    std::string text;
    std::array<char, 1 << 16> chunk;
    while (stream.read(chunk.data(), chunk.size()) || stream.gcount() > 0) {
        text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > most)
            throw InputError(file + ": error: is larger than " + std::to_string(most) +
                             " bytes, the most that is read");
    }
    if (stream.bad()) throw InputError(file + ": error: cannot be read to its end");
    return text;
}

std::string text_if_readable(const std::string& file, std::size_t most) {
    try {
        return read_text(file, most).value_or("");
    } catch (const InputError&) {
        return "";
    }
}

}  // namespace switchyard::base
