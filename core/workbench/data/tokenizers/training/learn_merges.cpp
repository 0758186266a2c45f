#include "core/workbench/data/tokenizers/training/learn_merges.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

using Token = std::uint32_t;

struct Pair {
    Token left, right;
    bool operator==(const Pair&) const = default;
};
struct PairHash {
    std::size_t operator()(const Pair& pair) const {
        const auto both = std::uint64_t{pair.left} << 32U | pair.right;
        return static_cast<std::size_t>(both * 0x9E3779B97F4A7C15U >> 8U);
    }
};

struct Word {
    std::vector<Token> symbols;
    std::int64_t count = 0;
};

// A pair as it was counted when it was put into the queue; it may be rarer by now.
struct Waiting {
    std::int64_t count;
    Pair pair;
    bool operator<(const Waiting& other) const {
        if (count != other.count) return count < other.count;
        if (pair.left != other.pair.left) return pair.left > other.pair.left;
        return pair.right > other.pair.right;
    }
};

template <class Use>
void for_each_character(std::string_view text, const Use& use) {
    for (std::size_t at = 0; at < text.size();) {
        const auto [value, size] = code_point_at(text, at);
        use(value);
        at += size;
    }
}

class Learning {
public:
    Learning(const WordCounts& words, const MergeSettings& settings) : settings_(settings) {
        for (const auto& token : settings.before) number(token);
        std::set<char32_t> characters(settings.alphabet.begin(), settings.alphabet.end());
        for (const auto& [word, count] : words) {
            for_each_character(word, [&](char32_t c) { characters.insert(c); });
        }
        for (const char32_t c : characters) {
            std::string text;
            append_code_point(text, c);
            number(text);
        }
        for (const auto& [word, count] : words) add(word, count);
        count_pairs();
    }

    LearnedPieces run() {
        while (pieces_.tokens.size() < settings_.size && !queue_.empty()) {
            const auto [count, pair] = queue_.top();
            queue_.pop();
            const auto now = counts_[pair];
            if (now != count) {
                if (now > 0) queue_.push({now, pair});
                continue;
            }
            if (count < std::max<std::int64_t>(settings_.least, 1)) break;
            merge(pair);
        }
        return std::move(pieces_);
    }

private:
    Token number(const std::string& token) {
        const auto [place, fresh] = numbers_.emplace(token, static_cast<Token>(pieces_.tokens.size()));
        if (fresh) pieces_.tokens.push_back(token);
        return place->second;
    }

    void add(std::string_view text, std::int64_t count) {
        Word word;
        word.count = count;
        for_each_character(text, [&](char32_t c) {
            std::string symbol = word.symbols.empty() ? "" : settings_.continuing;
            append_code_point(symbol, c);
            word.symbols.push_back(number(symbol));
        });
        words_.push_back(std::move(word));
    }

    void count_pairs() {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            const auto& symbols = words_[w].symbols;
            for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
                change({symbols[i], symbols[i + 1]}, words_[w].count, w);
        }
        for (const auto& [pair, count] : counts_) queue_.push({count, pair});
    }

    void change(const Pair& pair, std::int64_t by, std::size_t word) {
        counts_[pair] += by;
        if (by > 0) places_[pair].push_back(static_cast<std::uint32_t>(word));
    }

    std::string joined(const Pair& pair) const {
        std::string_view right = pieces_.tokens[pair.right];
        const auto& mark = settings_.continuing;
        if (!mark.empty() && right.starts_with(mark)) right.remove_prefix(mark.size());
        return pieces_.tokens[pair.left] + std::string(right);
    }

    void merge(const Pair& pair) {
        pieces_.merges.emplace_back(pieces_.tokens[pair.left], pieces_.tokens[pair.right]);
        const Token made = number(joined(pair));
        auto places = std::move(places_[pair]);
        places_.erase(pair);
        counts_.erase(pair);
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        std::vector<Pair> grown;
        for (const auto w : places) merge_in(words_[w], w, pair, made, grown);
        for (const auto& fresh : grown) {
            if (const auto count = counts_[fresh]; count > 0) queue_.push({count, fresh});
        }
    }

    // From left to right; what stands beside a piece that was made there is counted anew.
    void merge_in(Word& word, std::size_t w, const Pair& pair, Token made, std::vector<Pair>& grown) {
        auto& symbols = word.symbols;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            const bool here =
                symbols[i] == pair.left && i + 1 < symbols.size() && symbols[i + 1] == pair.right;
            if (!here) {
                symbols[kept++] = symbols[i];
                continue;
            }
            if (kept > 0) {
                less({symbols[kept - 1], pair.left}, word.count);
                more({symbols[kept - 1], made}, word.count, w, grown);
            }
            if (i + 2 < symbols.size()) {
                less({pair.right, symbols[i + 2]}, word.count);
                more({made, symbols[i + 2]}, word.count, w, grown);
            }
            symbols[kept++] = made;
            ++i;
        }
        symbols.resize(kept);
    }

    void less(const Pair& pair, std::int64_t by) {
        if (const auto found = counts_.find(pair); found != counts_.end()) found->second -= by;
    }
    void more(const Pair& pair, std::int64_t by, std::size_t w, std::vector<Pair>& grown) {
        change(pair, by, w);
        grown.push_back(pair);
    }

    const MergeSettings& settings_;
    LearnedPieces pieces_;
    std::unordered_map<std::string, Token> numbers_;
    std::vector<Word> words_;
    std::unordered_map<Pair, std::int64_t, PairHash> counts_;
    std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash> places_;  // words that may have it
    std::priority_queue<Waiting> queue_;
};

}  // namespace

LearnedPieces learn_merges(const WordCounts& words, const MergeSettings& settings) {
    return Learning(words, settings).run();
}

}  // namespace switchyard::data
