#include "core/workbench/data/store/token_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <xxhash.h>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"

namespace switchyard::data {
namespace {

namespace fs = std::filesystem;
using base::Json;

constexpr auto block_bytes = TokenFileHeader::block_bytes;

[[noreturn]] void cannot(const std::string& path, const char* what) {
    throw std::runtime_error(path + ": cannot be " + what + ": " + std::strerror(errno));
}

std::uint64_t whole_number(const Json& json, const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, base::needed_integer(json, key)));
}

// Of whole blocks by their checksums, and of what is behind them.
std::string content_of(const std::vector<std::uint64_t>& sums, const std::vector<unsigned char>& rest) {
    return checksum_text(
        XXH3_64bits_withSeed(rest.data(), rest.size(), XXH3_64bits(sums.data(), sums.size() * 8)));
}

}  // namespace

std::string TokenFileWriter::aside(const std::string& target, const char* what) {
    const fs::path path(target);
    auto name = std::string(1, '.').append(path.filename().string()).append(1, '.').append(what);
    return (path.parent_path() / std::move(name)).string();
}

TokenFileWriter::TokenFileWriter(std::string target, std::uint64_t width, const Json& saved)
    : target_(std::move(target)) {
    header_.width = width;
    tokens_.path = aside(target_, "part");
    tokens_.at = TokenFileHeader::bytes;
    ends_.path = aside(target_, "ends");
    if (saved.is_object()) {
        header_.texts = whole_number(saved, "texts");
        header_.tokens = whole_number(saved, "tokens");
        header_.longest = whole_number(saved, "longest");
    }
    open(tokens_, base::member(saved, "token_part"), header_.token_bytes());
    open(ends_, base::member(saved, "end_part"), header_.end_bytes());
}

TokenFileWriter::~TokenFileWriter() {
    for (const auto* part : {&tokens_, &ends_}) {
        if (part->descriptor >= 0) close(part->descriptor);
    }
}

// Blocks that were whole are read again, for their checksums and to see that they are what was saved.
void TokenFileWriter::open(Part& part, const Json& saved, std::uint64_t bytes) {
    part.descriptor = ::open(part.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (part.descriptor < 0) cannot(part.path, "opened");
    if (ftruncate(part.descriptor, static_cast<off_t>(part.at + bytes)) != 0)
        cannot(part.path, "cut to its size");
    for (std::uint64_t at = 0; at < bytes;) {
        part.rest.resize(static_cast<std::size_t>(std::min(block_bytes, bytes - at)));
        const auto got =
            pread(part.descriptor, part.rest.data(), part.rest.size(), static_cast<off_t>(part.at + at));
        if (got != static_cast<ssize_t>(part.rest.size())) cannot(part.path, "read");
        at += part.rest.size();
        if (part.rest.size() < block_bytes) break;
        part.sums.push_back(XXH3_64bits(part.rest.data(), part.rest.size()));
        part.written += block_bytes;
        part.rest.clear();
    }
    if (bytes == 0) return;
    if (content_of(part.sums, part.rest) != base::text_of(saved, "xxh3"))
        throw base::InputError(part.path + ": is not what was saved; remove the folder and begin again");
}

void TokenFileWriter::write(const Part& part, std::uint64_t at, const void* data, std::size_t bytes) const {
    const auto* from = static_cast<const unsigned char*>(data);
    while (bytes > 0) {
        const auto put = pwrite(part.descriptor, from, bytes, static_cast<off_t>(at));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) cannot(part.path, "written");
        from += put;
        at += static_cast<std::uint64_t>(put);
        bytes -= static_cast<std::size_t>(put);
    }
}

void TokenFileWriter::put(Part& part, const void* data, std::size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    while (bytes > 0) {
        const auto taken = std::min<std::size_t>(bytes, block_bytes - part.rest.size());
        part.rest.insert(part.rest.end(), from, from + taken);
        from += taken;
        bytes -= taken;
        if (part.rest.size() < block_bytes) continue;
        write(part, part.at + part.written, part.rest.data(), part.rest.size());
        part.sums.push_back(XXH3_64bits(part.rest.data(), part.rest.size()));
        part.written += block_bytes;
        part.rest.clear();
    }
}

void TokenFileWriter::add(const std::vector<std::int64_t>& ids) {
    if (header_.width == 2) {
        const std::vector<std::uint16_t> narrow(ids.begin(), ids.end());
        put(tokens_, narrow.data(), narrow.size() * 2);
    } else {
        const std::vector<std::int32_t> narrow(ids.begin(), ids.end());
        put(tokens_, narrow.data(), narrow.size() * 4);
    }
    header_.tokens += ids.size();
    header_.texts += 1;
    header_.longest = std::max<std::uint64_t>(header_.longest, ids.size());
    put(ends_, &header_.tokens, 8);
}

Json TokenFileWriter::save(Part& part) const {
    write(part, part.at + part.written, part.rest.data(), part.rest.size());
    if (fdatasync(part.descriptor) != 0) cannot(part.path, "written");
    return {{"xxh3", content_of(part.sums, part.rest)}};
}

Json TokenFileWriter::save() {
    return {{"texts", header_.texts},
            {"tokens", header_.tokens},
            {"longest", header_.longest},
            {"token_part", save(tokens_)},
            {"end_part", save(ends_)}};
}

const TokenFileHeader& TokenFileWriter::finish() {
    (void)save();
    auto sums = tokens_.sums;
    if (!tokens_.rest.empty()) sums.push_back(XXH3_64bits(tokens_.rest.data(), tokens_.rest.size()));
    sums.insert(sums.end(), ends_.sums.begin(), ends_.sums.end());
    if (!ends_.rest.empty()) sums.push_back(XXH3_64bits(ends_.rest.data(), ends_.rest.size()));
    std::vector<unsigned char> block(block_bytes);
    for (std::uint64_t at = 0; at < header_.end_bytes();) {
        const auto bytes = static_cast<std::size_t>(std::min(block_bytes, header_.end_bytes() - at));
        if (pread(ends_.descriptor, block.data(), bytes, static_cast<off_t>(at)) !=
            static_cast<ssize_t>(bytes))
            cannot(ends_.path, "read");
        write(tokens_, header_.ends_at() + at, block.data(), bytes);
        at += bytes;
    }
    write(tokens_, header_.sums_at(), sums.data(), sums.size() * 8);
    header_.sums = XXH3_64bits(sums.data(), sums.size() * 8);
    header_.checksum = header_.own_checksum();
    write(tokens_, 0, &header_, sizeof header_);
    if (ftruncate(tokens_.descriptor, static_cast<off_t>(header_.file_bytes())) != 0 ||
        fsync(tokens_.descriptor) != 0)
        cannot(tokens_.path, "written");
    return header_;
}

void TokenFileWriter::publish(const std::string& target) {
    std::error_code error;
    const auto part = aside(target, "part");
    if (fs::exists(part, error)) {
        fs::rename(part, target, error);
        if (error) throw std::runtime_error(target + ": cannot be written: " + error.message());
    }
    fs::remove(aside(target, "ends"), error);
    if (const auto failed = base::sync_folder(fs::path(target).parent_path().string()))
        throw std::runtime_error(*failed);
}

void TokenFileWriter::discard(const std::string& target) {
    std::error_code error;
    for (const char* what : {"part", "ends"}) fs::remove(aside(target, what), error);
}

}  // namespace switchyard::data
