#include <switchyard/reference/dropout_mask.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

namespace switchyard::reference {
namespace {

constexpr std::int64_t group_columns = 64;
constexpr int calls = 8;

// Philox4x32-10 for the eight calls of one group of columns, side by side so that a compiler can use vectors.
struct Group {
    std::uint32_t words[4][calls];
};

Group group_numbers(std::uint32_t group, std::uint32_t row, std::uint32_t head, std::uint32_t document,
                    std::uint64_t seed) {
    Group c;
    for (int call = 0; call < calls; ++call) {
        c.words[0][call] = group * calls + call;
        c.words[1][call] = row;
        c.words[2][call] = head;
        c.words[3][call] = document;
    }
    auto key_low = static_cast<std::uint32_t>(seed);
    auto key_high = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        for (int call = 0; call < calls; ++call) {
            const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c.words[0][call];
            const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c.words[2][call];
            c.words[0][call] = static_cast<std::uint32_t>(product1 >> 32) ^ c.words[1][call] ^ key_low;
            c.words[1][call] = static_cast<std::uint32_t>(product1);
            c.words[2][call] = static_cast<std::uint32_t>(product0 >> 32) ^ c.words[3][call] ^ key_high;
            c.words[3][call] = static_cast<std::uint32_t>(product0);
        }
        key_low += 0x9E3779B9U;
        key_high += 0xBB67AE85U;
    }
    return c;
}

struct Token {
    std::uint32_t document;
    std::uint32_t position;
};

std::vector<Token> packed_tokens(const Tokens& tokens, std::int64_t total) {
    if (!tokens.cu_seqlens.defined()) throw std::invalid_argument("dropout: packed tokens need cu_seqlens");
    const at::Tensor offsets = tokens.cu_seqlens.to(at::kCPU, at::kLong).contiguous();
    const auto* begin = offsets.const_data_ptr<std::int64_t>();
    const std::int64_t sequences = offsets.numel() - 1;
    if (sequences < 0 || begin[0] != 0 || begin[sequences] != total) {
        throw std::invalid_argument("dropout: cu_seqlens must go from 0 to the " + std::to_string(total) +
                                    " rows of the tensor");
    }
    std::vector<Token> result;
    result.reserve(total);
    for (std::int64_t s = 0; s < sequences; ++s) {
        for (std::int64_t i = 0; i < begin[s + 1] - begin[s]; ++i) {
            result.push_back(
                {static_cast<std::uint32_t>(tokens.first_document + s), static_cast<std::uint32_t>(i)});
        }
    }
    return result;
}

std::vector<Token> padded_tokens(const Tokens& tokens, std::int64_t batch, std::int64_t seq) {
    std::vector<Token> result;
    result.reserve(batch * seq);
    for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int64_t i = 0; i < seq; ++i) {
            result.push_back(
                {static_cast<std::uint32_t>(tokens.first_document + b), static_cast<std::uint32_t>(i)});
        }
    }
    return result;
}

}  // namespace

void fill_keep_row(bool* keep, KeepSpan columns, const Dropout& dropout, std::uint32_t document,
                   std::uint32_t head, std::uint32_t row) {
    const std::uint32_t threshold = dropout.threshold();
    const std::int64_t end = columns.begin + columns.size;
    for (std::int64_t begin = columns.begin / group_columns * group_columns; begin < end;
         begin += group_columns) {
        const Group numbers = group_numbers(static_cast<std::uint32_t>(begin / group_columns), row, head,
                                            document, dropout.seed);
        bool group[group_columns];
        for (int word = 0; word < 4; ++word) {
            for (int call = 0; call < calls; ++call) {
                const std::uint32_t bits = numbers.words[word][call];
                group[word * 16 + call * 2] = (bits & 0xFFFFU) >= threshold;
                group[word * 16 + call * 2 + 1] = (bits >> 16) >= threshold;
            }
        }
        const std::int64_t from = std::max(begin, columns.begin), to = std::min(begin + group_columns, end);
        std::copy(group + (from - begin), group + (to - begin), keep + (from - columns.begin));
    }
}

at::Tensor attention_keep_mask(const Dropout& dropout, std::int64_t first_document, std::int64_t batch,
                               KeepSpan heads, std::int64_t queries, std::int64_t keys, at::Device device) {
    return attention_keep_rectangle(dropout, first_document, batch, heads, {0, queries}, {0, keys}, device);
}

at::Tensor attention_keep_rectangle(const Dropout& dropout, std::int64_t first_document, std::int64_t batch,
                                    KeepSpan heads, KeepSpan queries, KeepSpan keys, at::Device device) {
    at::Tensor keep_BHNM =
        at::empty({batch, heads.size, queries.size, keys.size}, at::TensorOptions().dtype(at::kBool));
    bool* data = keep_BHNM.mutable_data_ptr<bool>();
    const std::int64_t rows = batch * heads.size * queries.size;
    at::parallel_for(0, rows, 1 + 32768 / (keys.size + 1), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
            const auto document =
                static_cast<std::uint32_t>(first_document + r / (heads.size * queries.size));
            const auto head = static_cast<std::uint32_t>(heads.begin + r / queries.size % heads.size);
            fill_keep_row(data + r * keys.size, keys, dropout, document, head,
                          static_cast<std::uint32_t>(queries.begin + r % queries.size));
        }
    });
    return keep_BHNM.to(device);
}

at::Tensor hidden_keep_rows(const Dropout& dropout, const Tokens& tokens, at::IntArrayRef sizes,
                            KeepSpan rows, at::Device device, std::int64_t first_channel) {
    const bool packed = tokens.layout == Layout::packed;
    if (sizes.size() != (packed ? 2U : 3U)) {
        throw std::invalid_argument(
            std::string("dropout: expected ") +
            (packed ? "[total, width] for packed tokens" : "[batch, seq, width] for padded tokens") +
            ", got a tensor of " + std::to_string(sizes.size()) + " dimensions");
    }
    const std::vector<Token> all =
        packed ? packed_tokens(tokens, sizes[0]) : padded_tokens(tokens, sizes[0], sizes[1]);
    const std::int64_t width = sizes.back();
    at::Tensor keep = at::empty({rows.size, width}, at::TensorOptions().dtype(at::kBool));
    bool* data = keep.mutable_data_ptr<bool>();
    at::parallel_for(0, rows.size, 1 + 32768 / (width + 1), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
            const Token& token = all[rows.begin + r];
            fill_keep_row(data + r * width, {first_channel, width}, dropout, token.document, 0,
                          token.position);
        }
    });
    return keep.to(device);
}

at::Tensor hidden_keep_mask(const Dropout& dropout, const Tokens& tokens, at::IntArrayRef sizes,
                            at::Device device, std::int64_t first_channel) {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
    return hidden_keep_rows(dropout, tokens, sizes, {0, rows}, device, first_channel).view(sizes);
}

at::Tensor apply_dropout(const at::Tensor& x, const at::Tensor& keep, const Dropout& dropout) {
    return x.masked_fill(keep.logical_not(), 0.0).mul(dropout.keep_scale());
}

at::Tensor hidden_dropout(const at::Tensor& x, const Dropout& dropout, const Tokens& tokens,
                          std::int64_t first_channel) {
    if (!dropout.active()) return x;
    return apply_dropout(x, hidden_keep_mask(dropout, tokens, x.sizes(), x.device(), first_channel), dropout);
}

}  // namespace switchyard::reference
