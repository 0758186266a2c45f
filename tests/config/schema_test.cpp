// The tables of keys, and what is made from them.
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include <switchyard/config/schema.h>
#include <switchyard/config/table.h>

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
    const OptionSchemas schemas{
        {{Kind::attention, "chunked"},
         {{"chunk_size", OptionType::integer, std::int64_t{256}, 1.0, 65536.0, {}, "keys of one chunk"}}}};
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
