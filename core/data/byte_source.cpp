#include <switchyard/data/byte_source.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>

namespace switchyard::data {
namespace {

namespace io = boost::iostreams;

// Owns the file under the filters.
class PackedStream : public io::filtering_istream {
public:
    template <class Filter>
    PackedStream(std::unique_ptr<std::ifstream> file, const Filter& filter) : file_(std::move(file)) {
        push(filter);
        push(*file_);
        exceptions(std::ios::badbit);
    }
    ~PackedStream() override { reset(); }

private:
    std::unique_ptr<std::ifstream> file_;
};

}  // namespace

ByteSource open_bytes(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return {nullptr, path + ": is a directory; expected a file"};
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file) return {nullptr, path + ": cannot be opened: " + std::strerror(errno)};
    std::array<char, 4> head{};
    file->read(head.data(), head.size());
    const std::string_view start(head.data(), static_cast<std::size_t>(file->gcount()));
    file->clear();
    file->seekg(0);
    if (start.substr(0, 2) == "\x1f\x8b")
        return {std::make_unique<PackedStream>(std::move(file), io::gzip_decompressor()), ""};
    if (start.substr(0, 3) == "BZh")
        return {std::make_unique<PackedStream>(std::move(file), io::bzip2_decompressor()), ""};
    return {std::move(file), ""};
}

}  // namespace switchyard::data
