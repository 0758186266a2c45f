#include "core/workbench/train/checksums.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/kernel/base/read_text.h"
#include "core/kernel/loader/content_hash.h"

namespace switchyard::train {
namespace {

constexpr const char* checksums_name = "checksums.xxh128";

}  // namespace

base::FileError add_checksums(const std::string& folder, const std::vector<std::string>& files,
                              std::string& lines) {
    for (const auto& file : files) {
        const auto path = folder + "/" + file;
        const auto hash = loader::content_hash(path);
        if (hash.empty()) return "cannot read " + path + ": " + std::strerror(errno);
        lines += hash + "  " + file + "\n";
    }
    return std::nullopt;
}

base::FileError write_checksums(const std::string& folder, const std::vector<std::string>& files,
                                std::string lines) {
    if (auto error = add_checksums(folder, files, lines)) return error;
    return base::write_file_atomically(folder + "/" + checksums_name, lines);
}

std::string checksum_fault(const std::string& folder, const std::vector<std::string>& files) {
    std::istringstream stream(base::text_if_readable(folder + "/" + checksums_name));
    std::error_code ignored;
    if (!std::filesystem::exists(folder + "/" + checksums_name, ignored)) {
        return std::string(checksums_name) +
               ": is not there: the folder is damaged, or an older version of this program wrote it";
    }
    std::map<std::string, std::string> expected;
    for (std::string hash, file; stream >> hash >> file;) expected[file] = hash;
    for (const auto& file : files) {
        if (!expected.contains(file))
            return std::string(checksums_name) + ": is damaged: does not name " + file;
        const auto got = loader::content_hash(folder + "/" + file);
        if (got.empty()) return file + ": cannot be read: " + std::strerror(errno);
        if (got != expected[file]) {
            return file + ": is damaged: its content does not match its checksum: expected " +
                   expected[file] + ", got " + got;
        }
    }
    return "";
}

}  // namespace switchyard::train
