// Suggestions for typos. Add a case: a word and what was meant.
#include "core/kernel/config/suggest.h"

#include <switchyard_test.h>

using switchyard::config::suggest;

TEST_CASE("the nearest candidate is suggested") {
    const std::vector<std::string> keys{"layers", "hidden_size", "heads", "kv_heads", "head_dim", "dropout"};
    CHECK(suggest("layer", keys) == "layers");
    CHECK(suggest("hiden_size", keys) == "hidden_size");
    CHECK(suggest("hidden-size", keys) == "hidden_size");
    CHECK(suggest("HEADS", keys) == "heads");
    CHECK(suggest("haeds", keys) == "heads");
    CHECK(suggest("kvheads", keys) == "kv_heads");
    CHECK(suggest("drop", keys) == "dropout");
    CHECK(suggest("head", keys) == "heads");
}

TEST_CASE("what goes by another name elsewhere is suggested, not what is spelt like it") {
    CHECK(suggest("gpu", {"cpu", "cuda"}) == "cuda");
    CHECK(suggest("GPU", {"cpu", "cuda"}) == "cuda");
    CHECK(suggest("gpu", {"cpu", "other"}) == "cpu");
}

TEST_CASE("nothing is suggested where nothing is near") {
    const std::vector<std::string> keys{"layers", "lr", "eps"};
    CHECK(suggest("banana", keys).empty());
    CHECK(suggest("", keys).empty());
    CHECK(suggest("x", keys).empty());
    CHECK(suggest(std::string(100'000, 'l'), keys).empty());
    CHECK(suggest("layers", {}).empty());
}
