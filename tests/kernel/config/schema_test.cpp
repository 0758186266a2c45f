// The tables of keys, and what is made from them.
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/kernel/config/group_table.h"
#include "core/kernel/config/schema.h"
#include "core/kernel/config/source_table.h"
#include "core/kernel/config/table.h"

#include "config_test.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::config;

// If it is not: switchyard config schema --markdown docs/config.md
TEST_CASE("docs/config.md is up to date") {
    std::ostringstream out;
    write_schema_markdown(out);
    CHECK((switchyard::test::read_file(switchyard::test::source_dir() / "docs" / "config.md") == out.str()));
}

TEST_CASE("every key stands in its section, once, with a meaning") {
    std::set<std::string> keys;
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) {
            CAPTURE(field.key);
            CHECK(field.key.rfind(std::string(section.name) + '.', 0) == 0);
            CHECK(keys.insert(field.key).second);
            CHECK_FALSE(field.help.empty());
            CHECK(find_field(field.key) == &field);
        }
    }
    CHECK(keys.size() > 50);
}

TEST_CASE("every kind of component has a section with a backend, for layers too where they may differ") {
    for (const Kind kind : all_kinds) {
        CAPTURE(name(kind));
        const Field* const backend = find_field(std::string(name(kind)) + ".backend");
        REQUIRE(backend != nullptr);
        CHECK(backend->notes.per_layer == facts_of(kind).per_layer);
    }
}

TEST_CASE("every default passes the check of its own key") {
    for (const auto type : {"bert", "gpt", "t5"}) {
        std::string text = "model.type = \"" + std::string(type) + "\"\n";
        for (const auto& section : sections()) {
            for (const auto& field : section.fields) {
                if (field.key == "model.type" || !field.notes.derived.empty()) continue;
                text += field.key + " = " + to_toml(default_value(field, *parse<ModelType>(type))) + '\n';
            }
        }
        CHECK(switchyard::test::errors(text).empty());
    }
}

// A number that becomes a whole one on its way - steps, tokens, spans - has a limit that a whole number
// holds. Here stand those that stay numbers to the end.
TEST_CASE("a number without an upper limit is one that never becomes a whole number") {
    const std::set<std::string> stay{"model.norm_eps",
                                     "model.rotary_theta",
                                     "model.rotary_factor",
                                     "model.rotary_low_freq_factor",
                                     "model.rotary_high_freq_factor",
                                     "model.soft_cap",
                                     "loss.z_loss",
                                     "optimizer.lr",
                                     "optimizer.eps",
                                     "optimizer.weight_decay",
                                     "optimizer.max_grad_norm",
                                     "train.checkpoint_minutes",
                                     "train.min_delta",
                                     "lora.alpha"};
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) {
            if (field.type != ValueType::number && field.type != ValueType::numbers) continue;
            CAPTURE(field.key);
            CHECK((field.limits.max.has_value() != stay.contains(field.key)));
            if (field.limits.max) CHECK(*field.limits.max <= 1e12);
        }
    }
}

TEST_CASE("every limit of a number is kept on both of its sides") {
    const auto written = [](double value) { return to_toml(value); };
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) {
            const auto& limits = field.limits;
            if (field.type != ValueType::number) continue;
            const auto refused = [&](double value) {
                const auto errors = switchyard::test::errors(field.key + " = " + written(value) + "\n");
                return errors.find(field.key + ": got the number " + written(value) +
                                   "; expected a number") != std::string::npos;
            };
            CAPTURE(field.key);
            constexpr double infinity = std::numeric_limits<double>::infinity();
            CHECK(refused(infinity));
            CHECK(refused(-infinity));
            CHECK(refused(1e300) == limits.max.has_value());
            if (limits.min) {
                CHECK(refused(*limits.min) == limits.above_min);
                CHECK(refused(std::nextafter(*limits.min, -infinity)));
            }
            if (limits.max) {
                CHECK(refused(*limits.max) == limits.below_max);
                CHECK(refused(std::nextafter(*limits.max, infinity)));
            }
        }
    }
}

TEST_CASE("the defaults of the structs are those of a bert") {
    const Config standard;
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) {
            CAPTURE(field.key);
            CHECK(field.get(standard) == default_value(field, ModelType::bert));
        }
    }
}

TEST_CASE("the text form has key, default, range and meaning") {
    const OptionSchemas schemas{{{Kind::attention, "chunked"},
                                 {"plain/chunked",
                                  {{"chunk_size",
                                    ValueType::integer,
                                    std::int64_t{256},
                                    {.min = 1, .max = 65536},
                                    "keys of one chunk"}}}}};
    std::ostringstream out;
    write_schema(out, &schemas);
    const std::string text = out.str();
    CHECK_THAT(text, switchyard::test::contains("  lr = 1e-04\n      number >= 0\n      learning rate\n"));
    CHECK_THAT(text,
               switchyard::test::contains("  norm_position = \"post\" (bert), \"pre\" (gpt), \"pre\" (t5)\n"
                                          "      one of pre, post\n"));
    CHECK_THAT(text, switchyard::test::contains(
                         "  window = 0\n      integer >= 0 and <= 268435456; also in [[layer]]\n"));
    CHECK_THAT(text, switchyard::test::contains(
                         "[attention.options.chunked]\n  chunk_size = 256\n      integer >= 1 and "
                         "<= 65536; also in [[layer]]\n      keys of one chunk\n"));
}

TEST_CASE("the JSON form has every key") {
    const auto json = schema_json();
    std::size_t keys = 0;
    for (const auto& section : sections()) keys += section.fields.size();
    keys += source_fields().size() + group_fields().size();
    REQUIRE(json.size() == keys);
    const auto entry = [&](const std::string& key) {
        for (const auto& row : json) {
            if (row["key"] == key) return row;
        }
        return nlohmann::json{};
    };
    CHECK(entry("model.dropout") == nlohmann::json{{"key", "model.dropout"},
                                                   {"type", "number"},
                                                   {"default", 0.1},
                                                   {"min", 0.0},
                                                   {"below", 1.0},
                                                   {"per_layer", true},
                                                   {"help", entry("model.dropout")["help"]}});
    CHECK(entry("model.kv_heads")["derived"] == "heads");
    CHECK(entry("model.kv_heads")["default"].is_null());
    CHECK(entry("model.norm")["usual"]["t5"] == "rms_norm");
    CHECK(entry("run.device")["choices"] == std::vector<std::string>{"cpu", "cuda"});
}
