// What the fuzz targets share. A target is one file here that defines LLVMFuzzerTestOneInput: it hands the
// bytes to a reader as a file or a text from outside would come, and requires what must hold of whatever
// comes back. README.md says how to add one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace switchyard::fuzz {

// What must hold does not. No target catches it: the fuzzer then keeps the input, the replay of old ones
// tells it as a failure.
struct Broken : std::logic_error {
    using std::logic_error::logic_error;
};

inline void require(bool holds, const char* what, std::string_view detail = {}) {
    if (!holds)
        throw Broken(std::string(what) + (detail.empty() ? "" : ": ") + std::string(detail.substr(0, 2000)));
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

// Several texts in one input, with the byte 0x1c between them (ASCII's file separator): always `count`, empty
// where there are fewer; what is beyond them belongs to the last.
std::vector<std::string_view> parts_of(std::string_view text, std::size_t count);

// An input as a file that readers open by its path; in memory.
class InputFile {
public:
    explicit InputFile(std::string_view content);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    std::string path() const;

private:
    int descriptor_;
};

// A file of an input, or one in its place.
void write_file(const std::string& path, std::string_view content);

// A folder for inputs of several files, below TMPDIR, removed when the process ends.
class InputFolder {
public:
    InputFolder();
    ~InputFolder();
    InputFolder(const InputFolder&) = delete;
    InputFolder& operator=(const InputFolder&) = delete;
    const std::string& path() const { return path_; }
    // An empty text stands for a file that is not there.
    void set(const std::string& name, std::string_view content) const;

private:
    std::string path_;
};

// The code points of a text; nothing if it is no UTF-8 (RFC 3629). Written here anew, to compare with.
std::optional<std::vector<char32_t>> code_points(std::string_view text);

// Requires that a message for people says something, and does not repeat an input of any length.
void require_message(std::string_view message);

// Requires that an HTML page has only tags and attributes that our pages have, each closed, and no code.
void require_harmless_page(std::string_view html);

}  // namespace switchyard::fuzz
