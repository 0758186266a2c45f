#include "fuzz.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace switchyard::fuzz {
namespace {

void write_all(int descriptor, std::string_view content) {
    while (!content.empty()) {
        const auto written = ::write(descriptor, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;  // by the fuzzer's alarm
        if (written <= 0) throw std::runtime_error("cannot write an input to a file");
        content.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

std::vector<std::string_view> parts_of(std::string_view text, std::size_t count) {
    std::vector<std::string_view> parts;
    while (parts.size() + 1 < count) {
        const auto end = text.find('\x1c');
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    parts.push_back(text);
    return parts;
}

InputFile::InputFile(std::string_view content) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
    write_all(descriptor_, content);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::string InputFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

InputFolder::InputFolder() : path_((std::filesystem::temp_directory_path() / "fuzz-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot create the folder " + path_);
}

InputFolder::~InputFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, std::string_view content) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) throw std::runtime_error("cannot write " + path);
    write_all(descriptor, content);
    ::close(descriptor);
}

void InputFolder::set(const std::string& name, std::string_view content) const {
    const auto file = path_ + "/" + name;
    if (content.empty()) {
        ::unlink(file.c_str());
        return;
    }
    write_file(file, content);
}

std::optional<std::vector<char32_t>> code_points(std::string_view text) {
    std::vector<char32_t> points;
    for (std::size_t at = 0; at < text.size();) {
        const auto first = static_cast<unsigned char>(text[at]);
        const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || at + length > text.size()) return std::nullopt;
        char32_t point = length == 1 ? first : first & (0xffU >> (length + 1));
        for (std::size_t i = 1; i < length; ++i) {
            const auto next = static_cast<unsigned char>(text[at + i]);
            if (next < 0x80 || next > 0xbf) return std::nullopt;
            point = point << 6U | (next & 0x3fU);
        }
        const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
        if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return std::nullopt;
        points.push_back(point);
        at += length;
    }
    return points;
}

void require_message(std::string_view message) {
    constexpr std::size_t longest = 16'000;
    require(!message.empty(), "an error says nothing");
    require(message.size() <= longest, "an error repeats what it complains of", message.substr(0, 400));
}

}  // namespace switchyard::fuzz
