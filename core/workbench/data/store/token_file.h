// A file of tokenized texts, read where it lies: opening it reads its header and the list of checksums, and a
// block is checked when something in it is first asked for.
//
//     header   4096 bytes
//     tokens   of all texts in a row, 2 or 4 bytes each, little-endian
//     ends     of each text, in tokens, 8 bytes each; begins at a multiple of 4096
//     sums     XXH3 of each block of 1 MiB, of the tokens first, then of the ends; then XXH3 of all of these
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/workbench/data/token_texts.h"

namespace switchyard::data {

struct TokenFileHeader {
    static constexpr std::array<char, 16> sign{'s', 'w', 'i', 't', 'c', 'h', 'y', 'a',
                                               'r', 'd', ' ', 't', 'o', 'k', '1', '\n'};
    std::array<char, 16> magic = sign;
    std::uint64_t width = 4;  // bytes of a token
    std::uint64_t texts = 0, tokens = 0;
    std::uint64_t longest = 0;   // tokens of a text
    std::uint64_t sums = 0;      // XXH3 of the list of checksums
    std::uint64_t checksum = 0;  // XXH3 of all before it

    static constexpr std::uint64_t bytes = 4096, block_bytes = 1 << 20;
    std::uint64_t token_bytes() const { return tokens * width; }
    std::uint64_t end_bytes() const { return texts * 8; }
    std::uint64_t ends_at() const { return (bytes + token_bytes() + bytes - 1) / bytes * bytes; }
    std::uint64_t sums_at() const { return ends_at() + end_bytes(); }
    static std::uint64_t blocks_of(std::uint64_t part) { return (part + block_bytes - 1) / block_bytes; }
    std::uint64_t blocks() const { return blocks_of(token_bytes()) + blocks_of(end_bytes()); }
    std::uint64_t file_bytes() const { return sums_at() + blocks() * 8; }
    std::uint64_t own_checksum() const;
    // Whether a writer can have made it, whatever its checksum says: then no size above wraps around.
    bool is_possible() const;
};
static_assert(std::is_trivially_copyable_v<TokenFileHeader> && sizeof(TokenFileHeader) == 64);

// 16 digits.
std::string checksum_text(std::uint64_t checksum);

// Bytes of a token where there are so many different ones.
std::uint64_t token_width(std::int64_t vocabulary);

class TokenFile final : public TokenTexts {
public:
    // Throws InputError for what is no such file, cut off or altered.
    explicit TokenFile(std::string path);
    ~TokenFile() override;
    TokenFile(const TokenFile&) = delete;
    TokenFile& operator=(const TokenFile&) = delete;

    const TokenFileHeader& header() const { return header_; }

    std::int64_t size() const override { return static_cast<std::int64_t>(header_.texts); }
    std::int64_t longest() const override { return static_cast<std::int64_t>(header_.longest); }
    // Both throw InputError naming the block that was altered; the first also for a text that does not end
    // behind the one before it, is longer than the longest, or ends behind the tokens that there are.
    std::int64_t end(std::int64_t text) const override;
    void append(std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& to) const override;

private:
    void check_header(std::uint64_t file_bytes);
    void map(int descriptor);
    // Of a part of the file that begins at `part` and has `part_bytes`; its first block is `first`.
    void check(std::uint64_t part, std::uint64_t part_bytes, std::uint64_t first, std::uint64_t begin,
               std::uint64_t end) const;

    std::string path_;
    TokenFileHeader header_;
    const std::byte* data_ = nullptr;
    std::vector<std::uint64_t> sums_;
    std::unique_ptr<std::atomic<bool>[]> checked_;
};

}  // namespace switchyard::data
