#include "core/workbench/data/tokenizers/pipeline/unigram.h"

#include <algorithm>
#include <limits>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/byte_tokens.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

constexpr double unknown_penalty = 10.0;  // below the least score of a token

[[noreturn]] void no_unknown_token(std::string_view piece) {
    throw base::InputError("'" + base::quoted(piece) +
                           "' is not in the tokenizer's vocabulary, which has no unknown token");
}

}  // namespace

Unigram::Unigram(const std::vector<std::string>& tokens, std::vector<double> scores, const Options& options)
    : scores_(std::move(scores)), byte_fallback_(options.byte_fallback) {
    const auto count = static_cast<std::int64_t>(tokens.size());
    if (tokens.size() > base::limits::vocabulary_entries)
        throw base::InputError("has more than " + std::to_string(base::limits::vocabulary_entries) +
                               " tokens");
    if (options.unknown >= count)
        throw base::InputError("unk_id is " + std::to_string(options.unknown) + ", but there are " +
                               std::to_string(count) + " tokens");
    unknown_ = options.unknown;
    table_.reserve(tokens.size());
    auto least = std::numeric_limits<double>::infinity();
    for (std::int64_t id = 0; id < count; ++id) {
        const auto& token = tokens[static_cast<std::size_t>(id)];
        table_.add(token, id);
        names_.add(id, token);
        if (!token.empty()) trie_.add(token, id);
        least = std::min(least, scores_[static_cast<std::size_t>(id)]);
    }
    unknown_score_ = least - unknown_penalty;
    for (unsigned byte = 0; byte < 256; ++byte) bytes_[byte] = find(byte_token(byte));
}

void Unigram::find_steps(std::string_view word, std::vector<Step>& steps) const {
    steps.assign(word.size() + 1, {});
    std::size_t size = 0;
    for (std::size_t begin = 0; begin < word.size(); begin += size) {
        size = code_point_at(word, begin).size;
        const auto so_far = steps[begin].score;
        const auto offer = [&](std::size_t end, double score, std::int64_t token) {
            auto& step = steps[end];
            if (step.begin == unreached || so_far + score > step.score) step = {so_far + score, token, begin};
        };
        bool known = false;  // this one character is a token
        auto node = ByteTrie::root;
        for (auto at = begin; at < word.size();) {
            node = trie_.step(node, static_cast<unsigned char>(word[at++]));
            if (node == ByteTrie::nowhere) break;
            const auto token = trie_.value(node);
            if (token == ByteTrie::nothing) continue;
            offer(at, scores_[static_cast<std::size_t>(token)], token);
            known = known || at == begin + size;
        }
        if (known) continue;
        if (unknown_ < 0) {
            // Only an error where the character cannot be reached in another way: as tokenizers has it, the
            // step is compared first.
            const auto& step = steps[begin + size];
            if (step.begin == unreached || so_far + unknown_score_ > step.score)
                no_unknown_token(word.substr(begin, size));
        } else {
            offer(begin + size, unknown_score_, unknown_);
        }
    }
}

// Of a stretch that a token says, or that none does.
void Unigram::add_piece(std::string_view piece, std::vector<std::int64_t>& ids) const {
    const auto id = find(piece);
    if (id >= 0) return ids.push_back(id);
    const auto byte = [](char c) { return static_cast<unsigned char>(c); };
    if (byte_fallback_ &&
        std::all_of(piece.begin(), piece.end(), [&](char c) { return bytes_[byte(c)] >= 0; })) {
        for (const char c : piece) ids.push_back(bytes_[byte(c)]);
        return;
    }
    if (unknown_ < 0) no_unknown_token(piece);
    ids.push_back(unknown_);
}

void Unigram::add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const {
    thread_local std::vector<Step> steps;
    thread_local std::vector<TextStretch> pieces;
    find_steps(word, steps);
    pieces.clear();
    bool open = false;  // the piece on the right is unknown, and takes unknown ones before it in
    for (auto end = word.size(); end > 0;) {
        const auto& step = steps[end];
        const bool unknown = unknown_ >= 0 && step.token == unknown_;
        if (unknown && open)
            pieces.back().begin = step.begin;
        else
            pieces.push_back({step.begin, end});
        open = unknown;
        end = step.begin;
    }
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
        add_piece(word.substr(piece->begin, piece->end - piece->begin), ids);
}

}  // namespace switchyard::data
