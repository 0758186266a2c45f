// Reads one table of a small TOML file (plugin.toml, a described host) key by key, collecting every mistake
// with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/value_spec.h>
#include "core/kernel/config/document.h"
#include "core/kernel/config/problem.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

// What a text must be like, and how to say it.
struct TextRule {
    bool (*holds)(const std::string&);
    const char* expected;
};
extern const TextRule a_name;  // lower-case letters, digits, '_', '-', '.', beginning with a letter
extern const TextRule a_line;  // not empty, no control characters

// Where problems go. `text`: of the whole file, must outlive it.
class TomlReport {
public:
    TomlReport(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}
    void add(const config::Place& place, const std::string& key, const std::string& message,
             const std::string& expected = {}, const std::string& hint = {});
    // In the order of their places.
    std::vector<config::Problem> sorted() &&;

private:
    std::string file_;
    std::string_view text_;
    std::vector<config::Problem> problems_;
};

class TomlTable {
public:
    // `prefix`: of the keys in messages; `place`: where a key that is missing is reported.
    TomlTable(const config::Node& node, std::string prefix, config::Place place, TomlReport& report)
        : node_(node), prefix_(std::move(prefix)), place_(place), report_(report) {}

    const config::Node* find(const std::string& key);
    const config::Node* require(const std::string& key, const std::string& expected);
    // "KEY: is the integer 3; expected ..."
    void wrong(const config::Node& node, const std::string& key, const std::string& expected,
               const std::string& hint = {});
    // "KEY: MESSAGE; HINT"
    void conflict(const config::Node& node, const std::string& key, const std::string& message,
                  const std::string& hint = {});

    std::string text(const std::string& key, const TextRule& rule);
    // Nothing where it is missing.
    std::optional<double> number(const std::string& key, const ValueLimits& limits = {});
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> standard = {});
    std::vector<std::string> list(const std::string& key, const TextRule& rule);
    // `standard`: where the key is missing; nullopt: it must be there.
    template <class Enum>
    std::optional<Enum> choice(const std::string& key, std::optional<Enum> standard = {}) {
        const ValueSpec spec{.limits = {.choices = {names<Enum>.begin(), names<Enum>.end()}}};
        if (standard && find(key) == nullptr) return standard;
        const auto found = value(key, spec, true);
        return found ? parse<Enum>(std::get<std::string>(*found)) : std::nullopt;
    }

    // The value in the type that `spec` asks for, or nothing after at least one complaint.
    std::optional<config::Value> check(const config::Node& node, const std::string& key,
                                       const ValueSpec& spec);

    // Reports the keys that nobody asked for.
    void finish();

private:
    // Nothing, too, where a key is missing that is not required.
    std::optional<config::Value> value(const std::string& key, const ValueSpec& spec, bool required);

    const config::Node& node_;
    std::string prefix_;
    config::Place place_;
    TomlReport& report_;
    std::vector<std::string> known_;
};

}  // namespace switchyard::config
