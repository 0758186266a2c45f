// BLEU and chrF of texts, against sacreBLEU's.
#include "core/workbench/score/bleu.h"
#include "core/workbench/score/characters.h"
#include "core/workbench/score/chrf.h"
#include "core/workbench/score/tokenize_13a.h"

#include "score_fixture.h"

using namespace switchyard;
using test::near;
using Texts = std::vector<std::string>;

TEST_CASE("texts are taken apart as sacreBLEU's 13a does") {
    for (const auto& one : test::score_cases("tokens")) {
        const auto text = one["text"].get<std::string>();
        INFO(text);
        CHECK(score::tokenize_13a(text) == one["tokens"].get<Texts>());
    }
}

TEST_CASE("BLEU, chrF and chrF++ are sacreBLEU's") {
    for (const auto& one : test::score_cases("texts")) {
        INFO(one["name"]);
        score::Bleu bleu;
        score::Chrf chrf, chrf_with_words(2);
        const auto told = one["told"].get<Texts>();
        const auto right = one["right"].get<std::vector<Texts>>();
        for (std::size_t i = 0; i < told.size(); ++i) {
            bleu.add(told[i], right[i]);
            chrf.add(told[i], right[i]);
            chrf_with_words.add(told[i], right[i]);
        }
        CHECK(bleu.score() == near(one["bleu"].get<double>()));
        CHECK(chrf.score() == near(one["chrf"].get<double>()));
        CHECK(chrf_with_words.score() == near(one["chrf++"].get<double>()));
    }
}

TEST_CASE("no texts score 0, and a text without a reference is refused") {
    score::Bleu bleu;
    score::Chrf chrf;
    CHECK(bleu.score() == 0.0);
    CHECK(chrf.score() == 0.0);
    CHECK_THROWS_WITH(bleu.add("a", {}), test::contains("BLEU needs a reference for each text"));
    CHECK_THROWS_WITH(chrf.add("a", {}), test::contains("chrF needs a reference for each text"));
}

TEST_CASE("bytes that are no UTF-8 are characters of their own") {
    CHECK(score::characters("a\xff\xc3\xa9\xe2\x82").size() == 5);
    CHECK(score::words("\xff \xfe\n").size() == 2);
    score::Chrf chrf;
    const Texts right{"ab\xff"};
    chrf.add("ab\xff", right);
    CHECK(chrf.score() == near(100.0));
}
