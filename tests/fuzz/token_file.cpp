// A file of a token store, read twice: as it stands, and as one whose checksums were put right, of a header,
// then tokens and ends without what pads them in a file. Either is refused, or every text lies in order among
// the tokens, and the tokens are those in the file.
#include <algorithm>
#include <cstring>
#include <memory>

#include <xxhash.h>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/store/token_file.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace data = switchyard::data;
using Tokens = std::vector<std::int64_t>;

// False: refused, in words.
template <class Read>
bool is_taken(const Read& read) {
    try {
        read();
        return true;
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
        return false;
    }
}

template <class Read>
void require_out_of_range(const Read& read) {
    try {
        read();
    } catch (const std::out_of_range&) {
        return;
    }
    require(false, "what is not there is read");
}

Tokens tokens_in(std::string_view file, const data::TokenFileHeader& header) {
    Tokens tokens;
    for (std::uint64_t i = 0; i < header.tokens; ++i) {
        std::uint16_t narrow = 0;
        std::int32_t wide = 0;
        const auto* const at = file.data() + data::TokenFileHeader::bytes + i * header.width;
        if (header.width == 2)
            std::memcpy(&narrow, at, sizeof narrow);
        else
            std::memcpy(&wide, at, sizeof wide);
        tokens.push_back(header.width == 2 ? narrow : wide);
    }
    return tokens;
}

void check_token_file(std::string_view bytes) {
    const InputFile input(bytes);
    std::unique_ptr<const data::TokenFile> file;
    if (!is_taken([&] { file = std::make_unique<const data::TokenFile>(input.path()); })) return;
    const auto& header = file->header();
    require(header.file_bytes() == bytes.size() && header.is_possible(), "a header of another file is taken");
    const auto count = static_cast<std::int64_t>(header.tokens);
    Tokens all;
    const bool whole = is_taken([&] { file->append(0, count, all); });
    if (whole) require(all == tokens_in(bytes, header), "other tokens than those in the file");
    for (std::int64_t text = 0; text < file->size(); ++text) {
        Tokens own;
        const bool taken = is_taken([&] {
            const auto begin = file->begin(text), end = file->end(text);
            require(begin >= 0 && begin < end && end <= count && end - begin <= file->longest(),
                    "a text lies outside of the tokens");
            file->append(begin, end, own);
        });
        if (taken && whole)
            require(std::equal(own.begin(), own.end(), all.begin() + file->begin(text)), "another text");
    }
    require_out_of_range([&] { (void)file->end(file->size()); });
    require_out_of_range([&] { (void)file->end(-1); });
    require_out_of_range([&] { file->append(0, count + 1, all); });
    require_out_of_range([&] { file->append(-1, 0, all); });
    require_out_of_range([&] { file->append(1, 0, all); });
}

std::string with_right_checksums(std::string_view text) {
    using Header = data::TokenFileHeader;
    Header header;
    text.copy(reinterpret_cast<char*>(&header), sizeof header);
    text.remove_prefix(std::min(text.size(), sizeof header));
    header.magic = Header::sign;
    std::string file(Header::bytes, '\0');
    std::string sums;
    const bool fits = std::max({header.tokens, header.texts, header.width}) <= text.size() &&
                      header.token_bytes() + header.end_bytes() <= text.size();
    if (fits) {
        file += text.substr(0, header.token_bytes());
        file.resize(header.ends_at());
        file += text.substr(header.token_bytes(), header.end_bytes());
        const auto add_sums = [&](std::uint64_t part, std::uint64_t bytes) {
            for (std::uint64_t at = 0; at < bytes; at += Header::block_bytes) {
                const auto sum =
                    XXH3_64bits(file.data() + part + at, std::min(Header::block_bytes, bytes - at));
                sums.append(reinterpret_cast<const char*>(&sum), sizeof sum);
            }
        };
        add_sums(Header::bytes, header.token_bytes());
        add_sums(header.ends_at(), header.end_bytes());
        file += sums;
    } else if (const auto bytes = header.file_bytes(); bytes < file.size() + text.size()) {
        file.resize(bytes);  // sizes that wrapped around
    }
    header.sums = XXH3_64bits(sums.data(), sums.size());
    header.checksum = header.own_checksum();
    if (file.size() >= sizeof header) std::memcpy(file.data(), &header, sizeof header);
    return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto text = text_of(bytes, size);
    check_token_file(text);
    check_token_file(with_right_checksums(text));
    return 0;
}
