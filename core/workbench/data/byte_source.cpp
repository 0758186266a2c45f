#include "core/workbench/data/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <boost/iostreams/read.hpp>

#include <fcntl.h>
#include <unistd.h>

#include "core/kernel/base/descriptor_buffer.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/workbench/data/zstd_frames.h"

namespace switchyard::data {
namespace {

namespace io = boost::iostreams;

// Packed bytes that were read. Filters are copied, and share it.
using PackedCount = std::shared_ptr<std::uintmax_t>;

class Counted : public io::multichar_input_filter {
public:
    explicit Counted(PackedCount bytes) : bytes_(std::move(bytes)) {}

    template <class Source>
    std::streamsize read(Source& source, char* into, std::streamsize count) {
        const auto got = io::read(source, into, count);
        if (got > 0) *bytes_ += static_cast<std::uintmax_t>(got);
        return got;
    }

private:
    PackedCount bytes_;
};

// A few kilobytes can unpack to terabytes; text does not. What has no size, as a pipe, is as large as what
// was read of it.
class Bounded : public io::multichar_input_filter {
public:
    Bounded(std::string path, std::uintmax_t size, PackedCount packed)
        : path_(std::move(path)), size_(size), packed_(std::move(packed)) {}

    template <class Source>
    std::streamsize read(Source& source, char* into, std::streamsize count) {
        const auto got = io::read(source, into, count);
        if (got > 0) unpacked_ += static_cast<std::uintmax_t>(got);
        const auto most = std::max<std::uintmax_t>(base::limits::unpacked_bytes,
                                                   std::max(size_, *packed_) * base::limits::unpacked_ratio);
        if (unpacked_ > most)
            throw base::InputError(path_ + ": unpacks to more than " + std::to_string(most) +
                                   " bytes, which no text of its size does; unpack it first if it is meant");
        return got;
    }

private:
    std::string path_;
    std::uintmax_t size_;
    PackedCount packed_;
    std::uintmax_t unpacked_ = 0;
};

// Sees to it that zstd's data has an end.
class WholeFrames : public io::multichar_input_filter {
public:
    template <class Source>
    std::streamsize read(Source& source, char* into, std::streamsize count) {
        const auto got = io::read(source, into, count);
        if (got > 0) frames_.pass({into, static_cast<std::size_t>(got)});
        if (got < 0 && !frames_.at_border()) throw std::ios_base::failure("the last frame is cut off");
        return got;
    }

private:
    ZstdFrames frames_;
};

// Owns the file under the filters, the first of which gives what is read.
class PackedStream : public io::filtering_istream {
public:
    template <class... Filters>
    explicit PackedStream(std::unique_ptr<std::istream> file, const Filters&... filters)
        : file_(std::move(file)) {
        (push(filters), ...);
        push(*file_);
    }
    ~PackedStream() override { reset(); }

private:
    std::unique_ptr<std::istream> file_;
};

class DescriptorStream : public std::istream {
public:
    // `closes`: it is this stream's own.
    DescriptorStream(int descriptor, bool closes, const std::function<bool()>& interrupted)
        : std::istream(nullptr), descriptor_(closes ? descriptor : -1), buffer_(descriptor, interrupted) {
        rdbuf(&buffer_);
    }
    ~DescriptorStream() override {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    DescriptorStream(const DescriptorStream&) = delete;
    DescriptorStream& operator=(const DescriptorStream&) = delete;

private:
    int descriptor_;
    base::DescriptorBuffer buffer_;
};

// By errno.
std::string cannot_be_opened(const std::string& path) {
    return path + ": cannot be opened: " + std::strerror(errno);
}

// What may have to be waited for is opened without waiting: its first bytes are waited for instead.
ByteSource opened(const std::string& path, const std::function<bool()>& interrupted) {
    std::error_code ignored;
    const auto type = std::filesystem::status(path, ignored).type();
    const bool waits =
        type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
    if (interrupted && waits) {
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor >= 0) return {std::make_unique<DescriptorStream>(descriptor, true, interrupted), ""};
        return {nullptr, cannot_be_opened(path)};
    }
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file) return {nullptr, cannot_be_opened(path)};
    return {std::move(file), ""};
}

// What comes out of a file of that many bytes, whatever it is packed in. `size`: 0 where it is not known.
ByteSource unpacked(std::unique_ptr<std::istream> file, const std::string& path, std::uintmax_t size) {
    std::array<char, 4> head{};
    file->read(head.data(), head.size());
    const std::string_view start(head.data(), static_cast<std::size_t>(file->gcount()));
    file->clear();
    for (std::size_t i = 0; i < start.size(); ++i) file->rdbuf()->sungetc();  // a pipe cannot seek
    const auto read = std::make_shared<std::uintmax_t>(0);
    const Bounded bounded(path, size, read);
    const Counted counted(read);
    switch (packing_of(start)) {
        case Packing::gzip:
            return {
                std::make_unique<PackedStream>(std::move(file), bounded, io::gzip_decompressor(), counted),
                ""};
        case Packing::bzip2:
            return {
                std::make_unique<PackedStream>(std::move(file), bounded, io::bzip2_decompressor(), counted),
                ""};
        case Packing::zstd:
            return {std::make_unique<PackedStream>(std::move(file), bounded, io::zstd_decompressor(),
                                                   WholeFrames(), counted),
                    ""};
        case Packing::none:
            break;
    }
    return {std::move(file), ""};
}

}  // namespace

Packing packing_of(std::string_view start) {
    if (start.starts_with("\x1f\x8b")) return Packing::gzip;
    if (start.starts_with("BZh")) return Packing::bzip2;
    if (start.starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
    return Packing::none;
}

ByteSource open_bytes(const std::string& path, const std::function<bool()>& interrupted) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return {nullptr, path + ": is a folder; expected a file"};
    auto file = opened(path, interrupted);
    if (!file.stream) return file;
    const auto size = std::filesystem::file_size(path, ignored);
    return unpacked(std::move(file.stream), path, ignored ? 0 : size);
}

ByteSource standard_input_bytes(const std::string& name, const std::function<bool()>& interrupted) {
    return unpacked(std::make_unique<DescriptorStream>(STDIN_FILENO, false, interrupted), name, 0);
}

std::string read_failure(const std::ios_base::failure& failure) {
    if (failure.code().category() == std::generic_category())
        return "cannot be read: " + failure.code().message();
    return "its packed data is damaged or cut off";
}

}  // namespace switchyard::data
