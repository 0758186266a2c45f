// Pairs of sentences of which half follow each other.
#include "core/workbench/data/next_sentences.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

#include <algorithm>
#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Numbers = std::vector<std::int64_t>;

// Sentence s of document d has the tokens 1000 d + 10 s, ..., of 1 to 4 tokens.
data::NextSentences made(std::int64_t documents, std::int64_t max_length = 0) {
    data::NextSentences samples({1, 2}, max_length, 7);
    for (std::int64_t d = 1; d <= documents; ++d) {
        std::vector<Numbers> sentences;
        for (std::int64_t s = 0; s < 5; ++s) {
            sentences.emplace_back();
            for (std::int64_t t = 0; t <= (s + d) % 4; ++t) sentences.back().push_back(1000 * d + 10 * s + t);
        }
        samples.add(sentences);
    }
    return samples;
}

struct Parts {
    Numbers a, b;
};

Parts parts_of(const Sample& sample) {
    const auto first = std::find(sample.ids.begin(), sample.ids.end(), 2);
    return {{sample.ids.begin() + 1, first}, {first + 1, sample.ids.end() - 1}};
}

}  // namespace

TEST_CASE("half of the pairs follow, the others are of another document") {
    const auto samples = made(200);
    REQUIRE(samples.size() == 800);
    std::int64_t follow = 0;
    for (std::int64_t i = 0; i < samples.size(); ++i) {
        const auto sample = samples.get(i, 0);
        const auto [a, b] = parts_of(sample);
        const auto document = i / 4 + 1, sentence = i % 4;
        CHECK(a.front() == 1000 * document + 10 * sentence);
        if (sample.labels == Numbers{0}) {
            ++follow;
            CHECK(b.front() == 1000 * document + 10 * (sentence + 1));
        } else {
            CHECK(sample.labels == Numbers{1});
            CHECK(std::ranges::none_of(b, [&](auto id) { return id / 1000 == document; }));
            const auto other = b.front() / 1000;
            CHECK(std::ranges::all_of(b, [&](auto id) { return id / 1000 == other; }));
        }
        CHECK(static_cast<std::int64_t>(sample.ids.size()) == samples.length(i));
        CHECK(sample.ids.front() == 1);
        CHECK(sample.ids.back() == 2);
        CHECK(std::count(sample.token_type_ids.begin(), sample.token_type_ids.end(), 0) ==
              static_cast<std::ptrdiff_t>(a.size()) + 2);
        CHECK(sample.token_type_ids.size() == sample.ids.size());
    }
    // Six standard deviations of 800 fair draws are 85.
    CHECK(std::abs(follow - 400) < 85);
}

TEST_CASE("what is drawn is a function of index, epoch and seed, and new in each epoch") {
    const auto samples = made(50), again = made(50);
    std::int64_t changed = 0;
    for (std::int64_t i = 0; i < samples.size(); ++i) {
        CHECK(samples.get(i, 3).ids == again.get(i, 3).ids);
        changed += samples.get(i, 0).ids != samples.get(i, 1).ids ? 1 : 0;
        CHECK(samples.get(i, 0).ids.size() == samples.get(i, 1).ids.size());
    }
    CHECK(changed > 100);
}

TEST_CASE("pairs are cut from the longer sentence first") {
    data::NextSentences samples({1, 2}, 9, 7);
    CHECK(samples.add({Numbers(10, 5), Numbers(2, 6), Numbers(2, 7), Numbers(20, 8), Numbers(30, 9)}) == 3);
    samples.add({Numbers(3, 50), Numbers(3, 51)});
    for (std::int64_t i = 0; i < samples.size(); ++i) CHECK(samples.length(i) <= 9);
    CHECK(parts_of(samples.get(0, 0)).a.size() == 4);
    CHECK(parts_of(samples.get(1, 0)).a.size() == 2);
    CHECK(parts_of(samples.get(1, 0)).b.size() == 2);
    CHECK(parts_of(samples.get(2, 0)).b.size() == 4);
    CHECK(parts_of(samples.get(3, 0)).a.size() == 3);
    CHECK(parts_of(samples.get(3, 0)).b.size() == 3);
}

TEST_CASE("documents are read from files, and those of one sentence refused or skipped") {
    const auto tokenizer = data::WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n", "v").tokenizer;
    const auto path = (test::temporary_dir("next_sentences") / "train.txt").string();
    std::ofstream(path) << "a\nb\nc\n\na b\nc\n\nb\n";
    config::Config config;
    config.task.kind = config::TaskKind::next_sentence;
    config.data.train = config.data.eval = {path};
    config.data.documents = config::Documents::paragraphs;
    config.batch.max_length = 16;
    const auto refused = data::read_next_sentences(config, *tokenizer);
    REQUIRE_FALSE(refused.problems.empty());
    CHECK_THAT(refused.problems[0], test::contains("train.txt:8:1: the document has one sentence"));
    config.data.bad_row = config::BadRow::skip;
    const auto splits = data::read_next_sentences(config, *tokenizer);
    CHECK(splits.problems.empty());
    CHECK(splits.train->size() == 3);
    CHECK(splits.train_rows.skipped == 1);

    std::ofstream(path) << "a\nb\nc\n";
    CHECK(data::read_next_sentences(config, *tokenizer).problems ==
          std::vector<std::string>{
              "data.train: one document alone has no other to draw sentences from; expected two or more",
              "data.eval: one document alone has no other to draw sentences from; expected two or more"});
}
