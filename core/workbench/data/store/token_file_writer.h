// Writes a file of tokenized texts (token_file.h), in steps that a later process can go on from: until it is
// finished, tokens and ends lie in files aside, and what is behind the last save is written again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/base/json_text.h"
#include "core/workbench/data/store/token_file.h"

namespace switchyard::data {

class TokenFileWriter {
public:
    // `target` is the file to be. `saved`: what an earlier writer's save() gave, to go on from there; null:
    // begins. Throws InputError where its files are not as they were saved, std::runtime_error naming a file
    // that cannot be written; so do the others.
    TokenFileWriter(std::string target, std::uint64_t width, const base::Json& saved);
    ~TokenFileWriter();
    TokenFileWriter(const TokenFileWriter&) = delete;
    TokenFileWriter& operator=(const TokenFileWriter&) = delete;

    // At least one token.
    void add(const std::vector<std::int64_t>& ids);
    // All that was added is durable.
    base::Json save();
    // The target's content is durable, but still aside. Nothing is added any more.
    const TokenFileHeader& finish();
    // The target is there. A file that was finished by another process is taken, too.
    static void publish(const std::string& target);

    const TokenFileHeader& header() const { return header_; }
    // Removes what lies aside.
    static void discard(const std::string& target);

private:
    // Blocks of one part of the file, with their checksums.
    struct Part {
        std::string path;
        int descriptor = -1;
        std::uint64_t at = 0;             // where the part begins in its file
        std::uint64_t written = 0;        // bytes in whole blocks
        std::vector<unsigned char> rest;  // the block that is not whole
        std::vector<std::uint64_t> sums;  // of the whole blocks
    };
    static std::string aside(const std::string& target, const char* what);
    void open(Part& part, const base::Json& saved, std::uint64_t bytes);
    void put(Part& part, const void* data, std::size_t bytes);
    void write(const Part& part, std::uint64_t at, const void* data, std::size_t bytes) const;
    base::Json save(Part& part) const;

    std::string target_;
    TokenFileHeader header_;
    Part tokens_, ends_;
};

}  // namespace switchyard::data
