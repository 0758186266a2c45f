// Masking against what Devlin et al. 2019 say of it: counts lie where a binomial distribution puts all but a
// part in 10^9 of them.
#include "core/workbench/data/masked_samples.h"
#include "core/workbench/data/text_samples.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/wordpiece.h"
#include "core/workbench/data/whole_words.h"

#include <cmath>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr std::int64_t texts = 200, words_a_text = 510;

std::shared_ptr<const SampleSource> source() {
    const auto store = std::make_shared<data::TokenStore>();
    for (std::int64_t i = 0; i < texts; ++i) {
        std::vector<std::int64_t> ids{1};
        for (std::int64_t j = 0; j < words_a_text; ++j) ids.push_back(5 + (i * 31 + j * 7) % 256);
        ids.push_back(2);
        store->add(ids);
    }
    return std::make_shared<data::TextSamples>(store, data::Marks{}, data::TextRoom{}, data::NextToken{});
}

// Whether `count` of n draws with chance p is neither in the lowest nor in the highest 10^-9 of the binomial
// distribution.
bool likely(std::int64_t count, std::int64_t n, double p) {
    double below = 0.0;  // P(X < count)
    double at = 0.0;
    for (std::int64_t k = 0; k <= count; ++k) {
        below += at;
        const auto x = static_cast<double>(k), all = static_cast<double>(n);
        at = std::exp(std::lgamma(all + 1) - std::lgamma(x + 1) - std::lgamma(all - x + 1) + x * std::log(p) +
                      (all - x) * std::log1p(-p));
    }
    return below + at > 1e-9 && below < 1.0 - 1e-9;
}

}  // namespace

TEST_CASE("15 of 100 words are told; of these 80 are hidden, 10 replaced, 10 left") {
    const data::ByteTokenizer tokenizer;
    const auto plain = source();
    for (const std::uint64_t seed : {1U, 2U, 77U}) {
        const data::MaskedSamples masked(plain, tokenizer, {}, seed);
        std::int64_t chosen = 0, hidden = 0, other = 0;
        std::vector<std::int64_t> places(words_a_text + 2, 0);
        for (std::int64_t i = 0; i < texts; ++i) {
            const auto before = plain->get(i, 0), after = masked.get(i, 0);
            REQUIRE(after.labels.size() == before.ids.size());
            for (std::size_t t = 0; t < before.ids.size(); ++t) {
                if (after.labels[t] == -100) {
                    CHECK(after.ids[t] == before.ids[t]);
                    continue;
                }
                ++chosen;
                ++places[t];
                CHECK(after.labels[t] == before.ids[t]);
                hidden += after.ids[t] == 4 ? 1 : 0;
                other += after.ids[t] != 4 && after.ids[t] != before.ids[t] ? 1 : 0;
                CHECK(after.ids[t] >= 4);
            }
        }
        CHECK(places.front() == 0);  // bos and eos are special
        CHECK(places.back() == 0);
        CHECK(likely(chosen, texts * words_a_text, 0.15));
        CHECK(likely(hidden, chosen, 0.8));
        CHECK(likely(other, chosen, 0.1 * 255 / 256));  // one in 256 words is replaced by itself
        CHECK_FALSE(likely(chosen, texts * words_a_text, 0.16));
    }
}

TEST_CASE("what is hidden is a function of seed, index and epoch") {
    const data::ByteTokenizer tokenizer;
    const data::MaskedSamples one(source(), tokenizer, {}, 5), same(source(), tokenizer, {}, 5),
        other(source(), tokenizer, {}, 6);
    CHECK(one.get(3, 2).ids == same.get(3, 2).ids);
    CHECK(one.get(3, 2).labels == same.get(3, 2).labels);
    CHECK(one.get(3, 2).labels != one.get(3, 1).labels);
    CHECK(one.get(3, 2).labels != other.get(3, 2).labels);
    CHECK(one.length(3) == 512);
}

TEST_CASE("shares may be other, and one word at least is told") {
    const data::ByteTokenizer tokenizer;
    const data::MaskedSamples all(source(), tokenizer, {1.0, 1.0, 0.0}, 1);
    const auto sample = all.get(0, 0);
    CHECK(std::count(sample.ids.begin(), sample.ids.end(), 4) == words_a_text);
    const data::MaskedSamples none(source(), tokenizer, {0.0, 0.8, 0.1}, 1);
    const auto labels = none.get(0, 0).labels;
    CHECK(std::count_if(labels.begin(), labels.end(), [](std::int64_t label) { return label != -100; }) == 1);
}

TEST_CASE("whole words are told: all pieces of one or none, as often as single tokens would be") {
    const auto tokenizer =
        data::WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nfilm\n,\n", "v")
            .tokenizer;
    REQUIRE(tokenizer);
    // By hand: "##" belongs to what stands before it.
    CHECK(data::word_continuations(*tokenizer) ==
          std::vector<bool>{false, false, false, false, false, false, true, true, false, false});
    const auto store = std::make_shared<data::TokenStore>();
    for (int i = 0; i < 2000; ++i) store->add(tokenizer->encode("film unaffable, film unaffable unaff film"));
    const auto plain =
        std::make_shared<data::TextSamples>(store, data::Marks{2, 3}, data::TextRoom{}, data::NextToken{});
    const data::MaskedSamples masked(plain, *tokenizer, {0.15, 0.8, 0.1, true}, 11);
    const std::vector<int> words{-1, 0, 1, 1, 1, 2, 3, 4, 4, 4, 5, 5, 6, -1};  // of each token
    std::int64_t chosen = 0;
    bool whole = true;
    for (std::int64_t i = 0; i < plain->size(); ++i) {
        const auto labels = masked.get(i, 0).labels;
        REQUIRE(labels.size() == words.size());
        for (std::size_t t = 0; t < labels.size(); ++t) {
            whole = whole && (words[t] >= 0 || labels[t] == -100);
            if (t > 0 && words[t] == words[t - 1])
                whole = whole && (labels[t] == -100) == (labels[t - 1] == -100);
        }
        chosen += labels[1] != -100 ? 1 : 0;
    }
    CHECK(whole);
    // A word is chosen by itself, or, where none was, one of seven is.
    const double alone = std::pow(0.85, 7) / 7.0;
    CHECK(likely(chosen, plain->size(), 0.15 + alone));
}

TEST_CASE("words of bytes begin at white space") {
    const auto continues = data::word_continuations(data::ByteTokenizer());
    for (int byte = 0; byte < 256; ++byte) {
        INFO(byte);
        const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
        CHECK(continues[static_cast<std::size_t>(byte) + 5] == !space);
    }
}
