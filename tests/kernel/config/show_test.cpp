// `config show`: what it prints, and that it loads to the same again.
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/kernel/config/show.h"

#include "config_test.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::good;

namespace {

std::string shown(const config::Config& config, bool origin) {
    std::ostringstream out;
    config::show(out, config, origin);
    return out.str();
}

const config::OptionSchemas& shown_schemas() {
    static const config::OptionSchemas made{
        {{Kind::attention, "chunked"},
         {"my plugin/chunked",
          {{"chunk_size", ValueType::integer, std::int64_t{256}, {.min = 1, .max = 65536}, ""},
           {"label", ValueType::string, "a \"b\"\\\n", {}, ""}}}},
        {{Kind::loss, "chunked"},
         {"my plugin/chunked", {{"rows", ValueType::integer, std::int64_t{8}, {}, ""}}}}};
    return made;
}

constexpr char everything[] = R"(preset = "t5-small"
[optimizer]
lr = 0.1
eps = 1e-300
betas = [0.1, 0.30000000000000004]
[attention]
backend = ["flash", "torch/sdpa@math"]
options.chunked.chunk_size = 64
options."my plugin/chunked".label = "tab\t"
[plugins]
paths = ["/with space/\"quotes\"", "/ünïcode"]
[[layer]]
match = "decoder.0,2-3"
attention = {backend = "naive", options.chunked.chunk_size = 3}
model.window = 8
[[layer]]
match = "*"
normalization.allow_reduced = true
)";

}  // namespace

TEST_CASE("what is shown loads to the same configuration") {
    for (const char* text : {"", "preset = \"gpt2\"", everything}) {
        const auto config = good(text, {"run.seed=3"});
        for (const bool origin : {false, true}) {
            const auto again = good(shown(config, origin));
            CHECK(config::canonical_text(again) == config::canonical_text(config));
            CHECK(again.model == config.model);
            CHECK(again.attention == config.attention);
            CHECK(again.optimizer == config.optimizer);
            CHECK(again.plugins == config.plugins);
            for (const auto& id : config.layer_ids()) CHECK(again.layer(id) == config.layer(id));
            CHECK(shown(again, false) == shown(config, false));
        }
    }
}

TEST_CASE("with schemas, options that nobody wrote are shown as comments") {
    const auto config = good(everything, {}, &shown_schemas());
    const std::string text = shown(config, true);
    CHECK_THAT(text, switchyard::test::contains("\n[attention.options.chunked]\nchunk_size = 64"));
    CHECK_THAT(text, switchyard::test::contains("\n# [loss.options.chunked]\n# rows = 8"));
    const auto again = good(text, {}, &shown_schemas());
    CHECK(again.attention == config.attention);
    CHECK(again.loss == config.loss);
    CHECK(config::canonical_text(again) == config::canonical_text(config));
    // Without the schemas too, as where those plugins are not installed.
    CHECK(config::canonical_text(good(text)) == config::canonical_text(config));
}

TEST_CASE("every value is shown with its origin") {
    const std::string text = shown(good("preset = \"gpt2\"\nbatch.size = 3\n", {"run.seed=3"}), true);
    const auto line = [&](const std::string& start) {
        const auto at = text.find("\n" + start);
        const auto end = at == std::string::npos ? at : text.find('\n', at + 1);
        std::string squeezed;
        for (const char c : at == std::string::npos ? "" : text.substr(at + 1, end - at - 1)) {
            if (c != ' ' || squeezed.empty() || squeezed.back() != ' ') squeezed += c;
        }
        return squeezed;
    };
    CHECK(line("seed") == "seed = 3 # --set #1");
    CHECK(line("size") == "size = 3 # run.toml:2:7");
    CHECK(line("layers") == "layers = 12 # preset gpt2:4:1");
    CHECK(line("kv_heads") == "kv_heads = 12 # default (heads)");
    CHECK(line("threads") == "threads = 0 # default");
    CHECK(line("backend") == "backend = \"auto\" # default");
}

TEST_CASE("the JSON form has every value and origin") {
    const auto json = config::show_json(good(everything, {}, &shown_schemas()));
    CHECK(json["values"]["optimizer.lr"]["value"] == 0.1);
    CHECK(json["values"]["optimizer.lr"]["origin"] == "run.toml:3:1");
    CHECK(json["values"]["attention.options.chunked.label"]["origin"] == "default");
    CHECK(json["values"]["attention.options.\"my plugin/chunked\".label"]["value"] == "tab\t");
    CHECK(json["values"]["run.phases"]["value"] == std::vector<std::string>{"train", "eval"});
    CHECK(json["layers"][0]["match"] == "decoder.0,2-3");
    CHECK(json["layers"][0]["values"]["model.window"]["value"] == 8);
}

TEST_CASE("the fingerprint is the same for the same values, wherever they come from") {
    const auto a = good("run.seed = 1\nbatch.size = 32\n");
    const auto b = good("", {"run.seed=1"});
    CHECK(config::fingerprint(a) == config::fingerprint(b));
    CHECK(config::fingerprint(a).size() == 16);
    CHECK(config::fingerprint(a) != config::fingerprint(good("")));
    CHECK(config::fingerprint(a) == config::fingerprint(good("run.seed = 1", {}, &shown_schemas())));
    CHECK(config::fingerprint(good("[[layer]]\nmatch=\"*\"\nmodel.window=1")) !=
          config::fingerprint(good("")));
}
