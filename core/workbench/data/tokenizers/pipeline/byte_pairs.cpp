#include "core/workbench/data/tokenizers/pipeline/byte_pairs.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/byte_alphabet.h"
#include "core/workbench/data/tokenizers/pipeline/byte_tokens.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

// Nothing: a character of it stands for no byte.
std::optional<std::string> as_bytes(std::string_view token) {
    std::string bytes;
    for (std::size_t at = 0; at < token.size();) {
        const auto c = code_point_at(token, at);
        const auto byte = byte_of_character(c.value);
        if (!byte) return std::nullopt;
        bytes += static_cast<char>(*byte);
        at += c.size;
    }
    return bytes;
}

constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t few_symbols = 24;

}  // namespace

// Of two tokens: the rank of their pair and the token that it becomes. Open addressing.
class BytePairs::Pairs {
public:
    struct Merged {
        std::uint32_t rank = no_rank, token = 0;
    };

    explicit Pairs(std::size_t count) : slots_(std::bit_ceil(std::max<std::size_t>(16, count * 2))) {}

    void add(std::uint32_t left, std::uint32_t right, const Merged& merged) {
        const auto key = key_of(left, right);
        auto at = place(key);
        while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = {key, merged};
    }

    Merged find(std::uint32_t left, std::uint32_t right) const {
        const auto key = key_of(left, right);
        for (auto at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].key == key) return slots_[at].merged;
            if (slots_[at].key == 0) return {};
        }
    }

private:
    struct Slot {
        std::uint64_t key = 0;  // 0: free
        Merged merged;
    };
    static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
        return (std::uint64_t{left} << 32U | right) + 1;
    }
    std::size_t place(std::uint64_t key) const {
        const auto hash = key * 0x9E3779B97F4A7C15U;
        return static_cast<std::size_t>(hash ^ hash >> 32U) & (slots_.size() - 1);
    }

    std::vector<Slot> slots_;
};

bool BytePairs::can_take_bytes(const Options& options) {
    return options.continuing.empty() && options.end_of_word.empty() && !options.byte_fallback;
}

BytePairs::BytePairs(const NumberedTokens& tokens, const Merges& merges, const Options& options)
    : options_(options) {
    take(tokens);
    if (!options_.unknown.empty()) unknown_ = find(options_.unknown);
    for (unsigned byte = 0; byte < 256; ++byte) {
        std::string character;
        append_code_point(character,
                          options_.takes_bytes ? character_of_byte(static_cast<unsigned char>(byte)) : byte);
        of_byte_[byte] = find(character);
        fallback_[byte] = find(byte_token(byte));
    }
    all_bytes_ = options_.takes_bytes &&
                 std::none_of(of_byte_.begin(), of_byte_.end(), [](auto id) { return id < 0; });
    if (options_.takes_bytes && options_.ignore_merges) {
        for (const auto& [token, id] : tokens) {
            if (const auto bytes = as_bytes(token)) as_bytes_.add(*bytes, id);
        }
    }
    add_merges(merges);
}

BytePairs::~BytePairs() = default;

// A pair that stands there twice has its last rank.
void BytePairs::add_merges(const Merges& merges) {
    pairs_ = std::make_unique<Pairs>(merges.size());
    std::string whole;
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const auto& [left, right] = merges[rank];
        const auto token_of = [&](std::string_view token) {
            const auto id = find(token);
            if (id >= 0) return static_cast<std::uint32_t>(id);
            throw base::InputError("merge " + std::to_string(rank + 1) + ": '" + base::quoted(token) +
                                   "' is not in the vocabulary");
        };
        const auto first = token_of(left), second = token_of(right);
        if (right.size() < options_.continuing.size())
            throw base::InputError("merge " + std::to_string(rank + 1) + ": '" + base::quoted(right) +
                                   "' is shorter than continuing_subword_prefix");
        whole.assign(left).append(right, options_.continuing.size());
        pairs_->add(first, second, {static_cast<std::uint32_t>(rank), token_of(whole)});
    }
}

bool BytePairs::may_fail() const { return !options_.unknown.empty() && unknown_ < 0 && !all_bytes_; }

std::int64_t BytePairs::token_of_character(std::string_view character, bool first, bool last) const {
    const bool before = !first && !options_.continuing.empty();
    const bool behind = last && !options_.end_of_word.empty();
    if (!before && !behind) {
        if (character.size() == 1) return of_byte_[static_cast<unsigned char>(character[0])];
        return find(character);
    }
    std::string whole = before ? options_.continuing : "";
    whole.append(character).append(behind ? options_.end_of_word : "");
    return find(whole);
}

bool BytePairs::add_bytes(std::string_view text, std::vector<std::uint32_t>& symbols) const {
    const auto known = [&](char c) { return fallback_[static_cast<unsigned char>(c)] >= 0; };
    if (!std::all_of(text.begin(), text.end(), known)) return false;
    for (const char c : text)
        symbols.push_back(static_cast<std::uint32_t>(fallback_[static_cast<unsigned char>(c)]));
    return true;
}

// An unknown token waits for the next character that is a token: so bytes of characters between come first,
// as they do in tokenizers.
void BytePairs::begin(std::string_view word, std::vector<std::uint32_t>& symbols) const {
    bool waiting = false;
    const auto put_waiting = [&] {
        if (waiting) symbols.push_back(static_cast<std::uint32_t>(unknown_));
    };
    for (std::size_t at = 0; at < word.size();) {
        const auto size = options_.takes_bytes ? 1 : code_point_at(word, at).size;
        const auto character = word.substr(at, size);
        const bool first = at == 0, last = at + size == word.size();
        at += size;
        const auto id = token_of_character(character, first, last);
        if (id >= 0) {
            put_waiting();
            waiting = false;
            symbols.push_back(static_cast<std::uint32_t>(id));
            continue;
        }
        if (options_.byte_fallback) {
            std::string whole = first ? "" : options_.continuing;
            whole.append(character).append(last ? options_.end_of_word : "");
            if (add_bytes(whole, symbols)) continue;
        }
        if (options_.unknown.empty()) continue;
        if (unknown_ < 0)
            throw base::InputError("'" + base::quoted(character) +
                                   "' is not in the tokenizer's vocabulary, and neither is its unk_token '" +
                                   base::quoted(options_.unknown) + "'");
        if (!options_.fuse_unknown) put_waiting();
        waiting = true;
    }
    put_waiting();
}

// Looks for the best pair again and again: fastest where there are few.
void BytePairs::merge_few(std::vector<std::uint32_t>& symbols) const {
    std::array<Pairs::Merged, few_symbols> merged;
    auto count = symbols.size();
    for (std::size_t i = 0; i + 1 < count; ++i) merged[i] = pairs_->find(symbols[i], symbols[i + 1]);
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i) {
            if (merged[i].rank < merged[best].rank) best = i;
        }
        if (merged[best].rank == no_rank) break;
        symbols[best] = merged[best].token;
        --count;
        for (std::size_t i = best + 1; i < count; ++i) symbols[i] = symbols[i + 1];
        for (std::size_t i = best + 1; i + 1 < count; ++i) merged[i] = merged[i + 1];
        if (best > 0) merged[best - 1] = pairs_->find(symbols[best - 1], symbols[best]);
        if (best + 1 < count) merged[best] = pairs_->find(symbols[best], symbols[best + 1]);
    }
    symbols.resize(count);
}

struct BytePairs::Symbol {
    std::uint32_t token;
    std::int32_t previous, next;  // -1: none
    bool gone;
};

// The best pair from a queue, in which pairs that are no more are passed over.
void BytePairs::merge_many(std::vector<std::uint32_t>& symbols) const {
    std::vector<Symbol> chain;
    chain.reserve(symbols.size());
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto at = static_cast<std::int32_t>(i);
        chain.push_back({symbols[i], at - 1, i + 1 < symbols.size() ? at + 1 : -1, false});
    }
    using Entry =
        std::tuple<std::uint32_t, std::int32_t, std::uint32_t, std::uint32_t>;  // rank, place, tokens
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto offer = [&](std::int32_t at) {
        const auto& left = chain[static_cast<std::size_t>(at)];
        if (left.next < 0) return;
        const auto right = chain[static_cast<std::size_t>(left.next)].token;
        const auto merged = pairs_->find(left.token, right);
        if (merged.rank != no_rank) queue.emplace(merged.rank, at, left.token, right);
    };
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(chain.size()); ++at) offer(at);
    while (!queue.empty()) {
        const auto [rank, at, left_token, right_token] = queue.top();
        queue.pop();
        auto& left = chain[static_cast<std::size_t>(at)];
        if (left.gone || left.token != left_token || left.next < 0) continue;
        auto& right = chain[static_cast<std::size_t>(left.next)];
        if (right.token != right_token) continue;
        left.token = pairs_->find(left_token, right_token).token;
        left.next = right.next;
        right.gone = true;
        if (left.next >= 0) chain[static_cast<std::size_t>(left.next)].previous = at;
        if (left.previous >= 0) offer(left.previous);
        offer(at);
    }
    symbols.clear();
    for (const auto& symbol : chain) {
        if (!symbol.gone) symbols.push_back(symbol.token);
    }
}

void BytePairs::add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const {
    if (options_.ignore_merges) {
        const auto id = options_.takes_bytes ? as_bytes_.find(word) : find(word);
        if (id >= 0) return ids.push_back(id);
    }
    thread_local std::vector<std::uint32_t> symbols;
    symbols.clear();
    begin(word, symbols);
    if (symbols.size() <= few_symbols)
        merge_few(symbols);
    else
        merge_many(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
}

}  // namespace switchyard::data
