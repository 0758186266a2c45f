// [[data.source]] and what goes with it. To add a mistake: its text and what is said of it.
#include <sstream>

#include <nlohmann/json.hpp>

#include "config_test.h"
#include "core/kernel/config/show.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::errors;
using test::good;

namespace {

const std::string lm = "model.type = \"gpt\"\n";
const std::string two = lm + R"([data]
stopping = "all_exhausted"
[[data.source]]
files = ["/a/*.txt", "/b"]
weight = 3
text_column = "body"
[[data.source]]
name = "books"
files = ["/c.jsonl"]
)";

}  // namespace

TEST_CASE("sources are read in order, with what was left out") {
    const auto config = good(two);
    CHECK(config.data.stopping == config::Stopping::all_exhausted);
    REQUIRE(config.data.sources.size() == 2);
    const auto &first = config.data.sources[0], &second = config.data.sources[1];
    CHECK(first.files == std::vector<std::string>{"/a/*.txt", "/b"});
    CHECK(first.weight == 3.0);
    CHECK(first.text_column == "body");
    CHECK(first.shown_name() == "/a/*.txt");
    CHECK(second.shown_name() == "books");
    CHECK(second.weight == 1.0);
    CHECK(config.data.given());
    CHECK(good(two, {"data.source=[{files=[\"/d\"]}]"}).data.sources.size() == 1);
}

TEST_CASE("what is shown of sources reads back to the same") {
    const auto config = good(two);
    std::ostringstream shown;
    config::show(shown, config, false);
    CHECK(good(shown.str()).data == config.data);
    CHECK(config::canonical_text(good(shown.str())) == config::canonical_text(config));
    CHECK(config::canonical_text(good(two, {"data.source=[{files=[\"/d\"]}]"})) !=
          config::canonical_text(config));
    const auto json = config::show_json(config);
    CHECK(json["sources"][0]["weight"] == 3.0);
    CHECK(json["sources"][1]["name"] == "books");
}

TEST_CASE("mistakes in sources are told with their place") {
    CHECK(errors(lm + "[[data.source]]\nweight = 2\n") ==
          "run.toml:2:1: error: data.source.files: is missing; expected the files that the source is read "
          "from\n");
    CHECK(errors(lm + "[[data.source]]\nfiles = [\"/a\"]\nweight = 0\n") ==
          "run.toml:4:10: error: data.source.weight: got the integer 0; expected a number > 0\n");
    CHECK(errors(lm + "[[data.source]]\nfile = [\"/a\"]\nfiles = [\"/a\"]\n") ==
          "run.toml:3:1: error: data.source.file: unknown key; expected one of name, files, weight, "
          "text_column, "
          "label_column; did you mean files?\n");
    CHECK(errors(lm + "data.source = \"/a\"\n") ==
          "run.toml:2:15: error: data.source: got the string \"/a\"; expected [[data.source]] tables, each "
          "with "
          "`files`\n");
    CHECK(
        errors(two + "[[data.source]]\nfiles = [\"/c.jsonl\"]\nname = \"books\"\n") ==
        "run.toml:11:1: error: data.source: two sources are called \"books\"; expected a `name` for each\n");
    CHECK(errors(two + "label_column = \"x\"\n") ==
          "run.toml:8:1: error: data.source: a source has a label_column of its own, but samples of "
          "causal_lm do "
          "not have their label in one column here; expected label_column left out\n");
    CHECK(errors(two, {"data.train=[\"/x\"]"}) ==
          "run.toml:4:1: error: data.source: there is data.train, too; expected one of both\n");
}

TEST_CASE("what a long text becomes depends on the task") {
    CHECK(good(lm + "data.on_long = \"split\"").data.on_long == config::LongText::split);
    CHECK(errors("task = {kind = \"classification\", labels = [\"a\", \"b\"]}\ndata.on_long = \"split\"") ==
          "run.toml:2:6: error: data.on_long: a part of a text of classification need not have the label or "
          "the "
          "answer of the whole text; expected \"truncate\" or \"error\"; texts of language models can be "
          "split\n");
    CHECK_THAT(errors("data.on_error = \"skip\""), test::contains("did you mean data.bad_row?"));
    CHECK(errors(lm + "data.mask_whole_words = true") ==
          "run.toml:2:6: error: data.mask_whole_words: causal_lm hides no words; expected false, or "
          "task.kind = "
          "\"masked_lm\"\n");
}
