// Options of components against the schema that their plugins declare. Add a case: an option in `schemas`, or
// a text and its error.
#include <sstream>

#include "core/kernel/config/show.h"

#include "config_test.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::errors;
using switchyard::test::good;

namespace {

const config::OptionSchemas& schemas() {
    static const config::OptionSchemas made{
        {{Kind::attention, "chunked"},
         {"mine/chunked",
          {{"chunk_size",
            ValueType::integer,
            std::int64_t{256},
            {.min = 1, .max = 65536},
            "keys of one chunk"},
           {"mode", ValueType::string, "keys", {.choices = {"keys", "queries", "both"}}, "what is cut"},
           {"scale", ValueType::number, 1.0, {.min = 0}, ""},
           {"exact", ValueType::boolean, true, {}, ""},
           {"skip", ValueType::list, std::vector<std::string>{}, {.choices = {"causal", "window"}}, ""}}}},
        {{Kind::attention, "naive"}, {"plain/naive", {}}},
        {{Kind::normalization, "one/fused"}, {"one/fused", {}}},
        {{Kind::normalization, "two/fused"},
         {"two/fused", {{"rows", ValueType::integer, std::int64_t{2}, {}, ""}}}},
        {{Kind::optimizer, "chunked"},
         {"mine/chunked", {{"width", ValueType::integer, std::int64_t{2}, {}, ""}}}}};
    return made;
}

// Of the component chunked of a plugin, as resolver::options_for() looks for it.
std::int64_t chunk_size(const config::SlotConfig& slot, const std::string& plugin) {
    for (const std::string& name : {plugin + "/chunked", std::string("chunked")}) {
        const auto found = slot.options.find(name);
        if (found != slot.options.end() && found->second.has("chunk_size"))
            return found->second.integer("chunk_size");
    }
    return 256;
}

std::string option_errors(const std::string& text) { return errors(text, {}, &schemas()); }

}  // namespace

TEST_CASE("options take the defaults of their schema") {
    const auto config = good("attention.options.chunked.chunk_size = 64\n", {}, &schemas());
    const auto& options = config.attention.options.at("chunked");
    CHECK(options.integer("chunk_size") == 64);
    CHECK(options.string("mode") == "keys");
    CHECK(options.number("scale") == 1.0);
    CHECK(options.boolean("exact"));
    CHECK(options.list("skip").empty());
    CHECK(config.optimizer.options.at("chunked").integer("width") == 2);
    CHECK(config.where("attention.options.chunked.chunk_size") == "run.toml:1:27");
    CHECK(config.where("attention.options.chunked.mode") == "default");
}

TEST_CASE("an integer is a number, and becomes one") {
    CHECK(good("attention.options.chunked.scale = 2\n", {}, &schemas())
              .attention.options.at("chunked")
              .number("scale") == 2.0);
}

TEST_CASE("a component can be named with its plugin") {
    const auto config = good("[attention.options.\"mine/chunked\"]\nmode = \"both\"\n", {}, &schemas());
    CHECK(config.attention.options.at("mine/chunked").string("mode") == "both");
    CHECK_FALSE(config.attention.options.at("mine/chunked").has("chunk_size"));
    CHECK(config.attention.options.at("chunked").string("mode") == "keys");
    CHECK(config.where("attention.options.\"mine/chunked\".mode") == "run.toml:2:1");
}

TEST_CASE("of an option under a bare and a full name the one written last counts, and is shown so") {
    const std::string file =
        "[attention.options.\"mine/chunked\"]\nchunk_size = 64\n[attention.options.chunked]\nmode = "
        "\"both\"\n";
    const std::string rule = "[[layer]]\nmatch = \"encoder.1\"\nattention.options.chunked.chunk_size = 5\n";
    const std::string bare = "attention.options.chunked.chunk_size=7";
    const std::string full = "attention.options.\"mine/chunked\".chunk_size=9";
    struct Case {
        std::vector<std::string> overrides;
        std::int64_t of_mine, of_others;
    };
    const Case cases[] = {
        {{}, 64, 256}, {{bare}, 7, 7}, {{full}, 9, 256}, {{bare, full}, 9, 7}, {{full, bare}, 7, 7}};
    for (const auto& one : cases) {
        for (const auto* known : {&schemas(), static_cast<const config::OptionSchemas*>(nullptr)}) {
            const auto written = good(file + rule, one.overrides, known);
            std::ostringstream text;
            config::show(text, written, false);
            for (const auto& config : {written, good(text.str(), {}, known)}) {
                CAPTURE(text.str());
                CHECK(chunk_size(config.attention, "mine") == one.of_mine);
                CHECK(chunk_size(config.attention, "other") == one.of_others);
                CHECK(chunk_size(config.layer({config::Stack::encoder, 1}).attention, "mine") == 5);
            }
        }
    }
    CHECK(good(file, {bare}).where("attention.options.\"mine/chunked\".chunk_size") == "--set #1");
}

TEST_CASE("options can differ from layer to layer") {
    const auto config =
        good("[[layer]]\nmatch = \"encoder.1\"\nattention.options.chunked.chunk_size = 16\n", {}, &schemas());
    CHECK(config.layer({config::Stack::encoder, 0}).attention.options.at("chunked").integer("chunk_size") ==
          256);
    CHECK(config.layer({config::Stack::encoder, 1}).attention.options.at("chunked").integer("chunk_size") ==
          16);
    CHECK(config.layer({config::Stack::encoder, 1}).attention.options.at("chunked").string("mode") == "keys");
}

TEST_CASE("options that do not fit the schema") {
    CHECK(option_errors("attention.options.chunked.chunk_size = 0") ==
          "run.toml:1:40: error: attention.options.chunked.chunk_size: got the integer 0; expected an "
          "integer >= 1 and <= "
          "65536\n");
    CHECK(option_errors("attention.options.chunked.chunk_size = \"8\"") ==
          "run.toml:1:40: error: attention.options.chunked.chunk_size: got the string \"8\"; expected an "
          "integer >= 1 and "
          "<= 65536\n");
    CHECK(option_errors("attention.options.chunked.mode = \"querys\"") ==
          "run.toml:1:34: error: attention.options.chunked.mode: got the string \"querys\"; expected one of "
          "\"keys\", "
          "\"queries\", \"both\"; did you mean \"queries\"?\n");
    CHECK(option_errors("attention.options.chunked.skip = [\"causal\", \"windows\"]") ==
          "run.toml:1:45: error: attention.options.chunked.skip[1]: got the string \"windows\"; expected one "
          "of \"causal\", "
          "\"window\"; did you mean \"window\"?\n");
    CHECK(option_errors("attention.options.chunked.skip = [\"causal\", \"causal\"]") ==
          "run.toml:1:45: error: attention.options.chunked.skip[1]: got the string \"causal\"; expected each "
          "name once\n");
    CHECK(option_errors("attention.options.chunked.chunksize = 8") ==
          "run.toml:1:27: error: attention.options.chunked.chunksize: chunked has no such option; expected "
          "one of "
          "chunk_size, mode, scale, exact, skip; did you mean chunk_size?\n");
    CHECK(option_errors("attention.options.naive.x = 8") ==
          "run.toml:1:25: error: attention.options.naive.x: naive has no such option; expected none: it has "
          "no options\n");
    CHECK(option_errors("attention.options.chuncked.chunk_size = 8") ==
          "run.toml:1:19: error: attention.options.chuncked: no plugin has a component of this name for "
          "attention; expected "
          "one of chunked, naive; did you mean chunked?\n");
    const std::string of_no_plugin =
        ": no plugin has a component of this name for attention; expected one of chunked, naive; did you "
        "mean ";
    CHECK(option_errors("attention.options.\"nothing/chunked\".chunk_size = 8") ==
          "run.toml:1:19: error: attention.options.\"nothing/chunked\"" + of_no_plugin + "chunked?\n");
    CHECK(option_errors("attention.options.\"mime/chunked\".chunk_size = 8") ==
          "run.toml:1:19: error: attention.options.\"mime/chunked\"" + of_no_plugin + "mine/chunked?\n");
    CHECK(option_errors("normalization.options.\"two/fused\".rows = 8").empty());
    CHECK(option_errors("normalization.options.\"too/fused\".rows = 8") ==
          "run.toml:1:23: error: normalization.options.\"too/fused\": no plugin has a component of this name "
          "for normalization; expected one of one/fused, two/fused; did you mean two/fused?\n");
    CHECK(option_errors("loss.options.fused.x = 8") ==
          "run.toml:1:14: error: loss.options.fused: no plugin has a component of this name for loss\n");
    CHECK(option_errors("attention.options.chunk_size = 8") ==
          "run.toml:1:32: error: attention.options.chunk_size: got the integer 8; expected a table of "
          "options of the "
          "component chunk_size\n");
    CHECK(
        option_errors("attention.options = 8") ==
        "run.toml:1:21: error: attention.options: got the integer 8; expected a table for each component\n");
    for (const auto* known : {&schemas(), static_cast<const config::OptionSchemas*>(nullptr)})
        CHECK(errors("attention.options.\"\".x = 8", {}, known) ==
              "run.toml:1:19: error: attention.options.\"\": has no name; expected a table for each "
              "component\n");
    CHECK(option_errors("[[layer]]\nmatch = \"*\"\noptimizer.options.chunked.width = 1\n") ==
          "run.toml:3:11: error: optimizer.options: cannot differ from layer to layer\n");
}

TEST_CASE("without schemas options are kept as they are written") {
    const auto config =
        good("[attention.options.anything]\na = 1\nb = 2.5\nc = true\nd = \"x\"\ne = [\"y\", \"z\"]\n");
    const auto& options = config.attention.options.at("anything");
    CHECK(options.integer("a") == 1);
    CHECK(options.number("b") == 2.5);
    CHECK(options.boolean("c"));
    CHECK(options.string("d") == "x");
    CHECK(options.list("e") == std::vector<std::string>{"y", "z"});
    CHECK(errors("attention.options.x.y = [1]") ==
          "run.toml:1:26: error: attention.options.x.y[0]: got the integer 1; expected a string\n");
    CHECK(errors("attention.options.x.y = {z = 1}") ==
          "run.toml:1:25: error: attention.options.x.y: got a table; expected a string\n");
}
