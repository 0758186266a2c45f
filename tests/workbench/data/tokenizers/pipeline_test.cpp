// tokenizer.json against Hugging Face's tokenizers. To add a case: add a text to NASTY or a variant in
// tests/fixtures/make_tokenizers.py and run it.
#include "tokenizer_fixtures.h"

#include <switchyard_test.h>

using namespace switchyard;
using Ids = std::vector<std::int64_t>;

TEST_CASE("numbers and decoded texts are those of tokenizers, for every variant and text") {
    const auto cases = test::json_of_file(test::tokenizer_fixture("cases.json"));
    const auto texts =
        test::json_of_file(test::tokenizer_fixture("texts.json")).get<std::vector<std::string>>();
    for (const auto& one : cases["cases"]) {
        const auto name = one["name"].get<std::string>();
        INFO(name);
        const auto tokenizer = data::read_tokenizer_json(
            test::changed_tokenizer(one["base"].get<std::string>(), one["change"]), name);
        std::istringstream sums(one["sums"].get<std::string>());
        std::size_t plain = 0;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            std::string sum;
            sums >> sum;
            INFO("text " << i << ": " << base::Json(texts[i]).dump());
            const auto ids = tokenizer->encode(texts[i]);
            if (i >= 9 && i < 30 && i % 3 == 0) CHECK(ids == one["ids"][plain++].get<Ids>());
            INFO(base::Json(ids).dump() << " -> " << tokenizer->decode(ids));
            CHECK(test::checksum_of(ids, tokenizer->decode(ids)) == sum);
        }
        CHECK(tokenizer->encode_with_specials(texts[9], 0) == one["framed"].get<Ids>());
        const auto pair = tokenizer->encode_pair(texts[9], texts[10], 0);
        CHECK(pair.ids == one["pair"][0].get<Ids>());
        CHECK(pair.token_type_ids == one["pair"][1].get<Ids>());
    }
}

TEST_CASE("many texts at once have the numbers that they have one by one, in order") {
    const auto texts =
        test::json_of_file(test::tokenizer_fixture("texts.json")).get<std::vector<std::string>>();
    std::vector<std::string_view> all;
    for (int i = 0; i < 5; ++i) all.insert(all.end(), texts.begin(), texts.end());
    for (const std::string name : {"wordpiece", "bytes", "pairs", "unigram"}) {
        const auto path = test::tokenizer_fixture(name + ".json");
        const auto tokenizer = data::read_tokenizer_json(test::bytes_of_file(path), path);
        const auto fresh = data::read_tokenizer_json(test::bytes_of_file(path), path);
        const auto batch = tokenizer->encode_batch(all, 4);
        REQUIRE(batch.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i) CHECK(batch[i] == fresh->encode(all[i]));
    }
    const auto path = test::tokenizer_fixture("bytes.json");
    CHECK(data::read_tokenizer_json(test::bytes_of_file(path), path)->encode_batch({}).empty());
}
