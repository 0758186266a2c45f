#include "core/workbench/data/store/token_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <xxhash.h>

#include "core/kernel/base/input_error.h"

namespace switchyard::data {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens lie in files as they lie in memory");

constexpr const char* advice = "; `switchyard data prepare` makes it again";

class Descriptor {
public:
    explicit Descriptor(const std::string& path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (number_ < 0) throw base::InputError(path + ": cannot be opened: " + std::strerror(errno));
    }
    ~Descriptor() { close(number_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }

private:
    int number_;
};

}  // namespace

std::uint64_t TokenFileHeader::own_checksum() const {
    return XXH3_64bits(this, offsetof(TokenFileHeader, checksum));
}

bool TokenFileHeader::is_possible() const {
    constexpr auto most = std::uint64_t{1} << 56;
    return (width == 2 || width == 4) && tokens <= most && texts <= tokens && longest <= tokens;
}

std::string checksum_text(std::uint64_t checksum) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(checksum));
    return digits;
}

std::uint64_t token_width(std::int64_t vocabulary) { return vocabulary <= 65536 ? 2 : 4; }

TokenFile::TokenFile(std::string path) : path_(std::move(path)) {
    const Descriptor file(path_);
    struct stat status {};
    if (fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode))
        throw base::InputError(path_ + ": is no regular file; expected one of a token store");
    const auto got = pread(file.number(), &header_, sizeof header_, 0);
    if (got != static_cast<ssize_t>(sizeof header_) || header_.magic != TokenFileHeader::sign)
        throw base::InputError(path_ + ": is no file of a token store" + advice);
    check_header(static_cast<std::uint64_t>(status.st_size));
    map(file.number());
    sums_.resize(header_.blocks());
    if (!sums_.empty()) std::memcpy(sums_.data(), data_ + header_.sums_at(), sums_.size() * 8);
    if (XXH3_64bits(sums_.data(), sums_.size() * 8) != header_.sums) {
        munmap(const_cast<std::byte*>(data_), header_.file_bytes());
        throw base::InputError(path_ + ": its list of checksums was altered" + advice);
    }
    checked_ = std::make_unique<std::atomic<bool>[]>(sums_.size());
}

TokenFile::~TokenFile() { munmap(const_cast<std::byte*>(data_), header_.file_bytes()); }

void TokenFile::check_header(std::uint64_t file_bytes) {
    if (header_.checksum != header_.own_checksum())
        throw base::InputError(path_ + ": its header was altered" + advice);
    if (!header_.is_possible())
        throw base::InputError(path_ + ": its header has sizes that no token store has" + advice);
    const auto expected = header_.file_bytes();
    if (file_bytes == expected) return;
    std::string where;
    if (file_bytes < header_.sums_at()) {
        const auto tokens = TokenFileHeader::blocks_of(header_.token_bytes());
        const auto in_ends = file_bytes > header_.ends_at();
        const auto there = in_ends ? file_bytes - header_.ends_at()
                                   : std::max(file_bytes, TokenFileHeader::bytes) - TokenFileHeader::bytes;
        const auto block = std::min(there / TokenFileHeader::block_bytes, tokens);
        where = " from block " +
                std::to_string(in_ends ? tokens + there / TokenFileHeader::block_bytes : block) + " of " +
                std::to_string(header_.blocks()) + " on";
    }
    throw base::InputError(path_ + (file_bytes < expected ? ": is cut off" + where : ": has been added to") +
                           ": it has " + std::to_string(file_bytes) + " bytes, expected " +
                           std::to_string(expected) + advice);
}

void TokenFile::map(int descriptor) {
    void* const data = mmap(nullptr, header_.file_bytes(), PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) throw base::InputError(path_ + ": cannot be mapped: " + std::strerror(errno));
    data_ = static_cast<const std::byte*>(data);
}

void TokenFile::check(std::uint64_t part, std::uint64_t part_bytes, std::uint64_t first, std::uint64_t begin,
                      std::uint64_t end) const {
    constexpr auto size = TokenFileHeader::block_bytes;
    for (auto block = begin / size; block * size < end; ++block) {
        auto& checked = checked_[first + block];
        if (checked.load(std::memory_order_relaxed)) continue;
        const auto at = part + block * size, length = std::min(size, part_bytes - block * size);
        if (XXH3_64bits(data_ + at, length) != sums_[first + block])
            throw base::InputError(path_ + ": block " + std::to_string(first + block) + " of " +
                                   std::to_string(sums_.size()) + " was altered: bytes " +
                                   std::to_string(at) + " to " + std::to_string(at + length - 1) +
                                   " do not have their checksum" + advice);
        checked.store(true, std::memory_order_relaxed);
    }
}

std::int64_t TokenFile::end(std::int64_t text) const {
    if (text < 0 || text >= size()) throw std::out_of_range("text " + std::to_string(text));
    // This text's end, and that of the one before it.
    std::array<std::uint64_t, 2> ends{};
    const std::uint64_t count = text == 0 ? 1 : 2, at = (static_cast<std::uint64_t>(text) + 1 - count) * 8;
    check(header_.ends_at(), header_.end_bytes(), TokenFileHeader::blocks_of(header_.token_bytes()), at,
          at + count * 8);
    std::memcpy(ends.data() + (2 - count), data_ + header_.ends_at() + at, count * 8);
    const auto [begin, end] = ends;
    if (begin >= end || end > header_.tokens || end - begin > header_.longest)
        throw base::InputError(path_ + ": text " + std::to_string(text + 1) + " is of tokens " +
                               std::to_string(begin) + " to " + std::to_string(end) + ", but there are " +
                               std::to_string(header_.tokens) + ", and the longest text has " +
                               std::to_string(header_.longest) + advice);
    return static_cast<std::int64_t>(end);
}

void TokenFile::append(std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& to) const {
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(header_.tokens))
        throw std::out_of_range("tokens " + std::to_string(begin) + " to " + std::to_string(end));
    const auto width = header_.width;
    const auto from = static_cast<std::uint64_t>(begin) * width,
               behind = static_cast<std::uint64_t>(end) * width;
    check(TokenFileHeader::bytes, header_.token_bytes(), 0, from, behind);
    const auto* at = data_ + TokenFileHeader::bytes + from;
    const auto copy = [&](auto token) {
        for (auto left = end - begin; left > 0; --left, at += sizeof token) {
            std::memcpy(&token, at, sizeof token);
            to.push_back(token);
        }
    };
    to.reserve(to.size() + static_cast<std::size_t>(end - begin));
    if (width == 2)
        copy(std::uint16_t{});
    else
        copy(std::int32_t{});
}

}  // namespace switchyard::data
