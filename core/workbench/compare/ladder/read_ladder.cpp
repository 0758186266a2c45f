// A ladder's file, read and checked. All mistakes are told at once.
#include <algorithm>
#include <map>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/config/toml_table.h"
#include "core/workbench/compare/ladder/ladder.h"

namespace switchyard::compare {
namespace {

using config::Node;

constexpr std::size_t most_rungs = 100;

std::string toml_text(const Node& node) {
    if (const auto* text = std::get_if<std::string>(&node.scalar)) return config::toml_string(*text);
    if (const auto* value = std::get_if<bool>(&node.scalar)) return *value ? "true" : "false";
    if (const auto* value = std::get_if<std::int64_t>(&node.scalar)) return std::to_string(*value);
    if (const auto* value = std::get_if<double>(&node.scalar)) return config::to_toml(*value);
    std::string list;
    for (const auto& child : node.children) base::add_item(list, toml_text(child));
    return "[" + list + "]";
}

class Reader {
public:
    Reader(const std::string& text, const std::string& file)
        : text_(text), file_(file), report_(file, text_) {}

    std::variant<Ladder, std::string> read() {
        auto guarded = config::guard_text(text_, file_);
        if (!guarded.empty()) return config::render(guarded);
        const auto document = config::parse_document(text_, file_);
        if (!document.problems.empty()) return config::render(document.problems);
        ladder_.file = file_;
        config::TomlTable table(document.root, "", {1, 1}, report_);
        ladder_.title = table.text("title", config::a_line);
        ladder_.config = table.text("config", config::a_line);
        if (table.find("operation") != nullptr) ladder_.operation = table.choice<Operation>("operation");
        ladder_.set = values(table, "set");
        read_scales(table);
        read_rungs(table);
        table.finish();
        check_tree();
        const auto problems = std::move(report_).sorted();
        if (!problems.empty()) return config::render(problems);
        order();
        return std::move(ladder_);
    }

private:
    // { precision.backend = "amp/bf16", "batch.size" = 8 } as overrides.
    std::vector<std::string> values(config::TomlTable& table, const std::string& key) {
        const Node* const node = table.find(key);
        std::vector<std::string> list;
        if (node == nullptr) return list;
        if (node->kind != Node::Kind::table)
            table.wrong(*node, key, "a table of values, as { precision.backend = \"amp/bf16\" }");
        else
            flatten(*node, "", list);
        return list;
    }

    static void flatten(const Node& node, const std::string& prefix, std::vector<std::string>& list) {
        for (const auto& child : node.children) {
            const auto key = prefix + child.name;
            if (child.kind == Node::Kind::table)
                flatten(child, key + ".", list);
            else
                list.push_back(key + "=" + toml_text(child));
        }
    }

    void read_scales(config::TomlTable& table) {
        const Node* const node = table.find("scale");
        if (node == nullptr) return;
        if (node->kind != Node::Kind::table) return table.wrong(*node, "scale", "tables, as [scale.small]");
        for (const auto& one : node->children) {
            config::TomlTable scale(one, "scale." + one.name + ".", one.place, report_);
            LadderScale read;
            read.set = values(scale, "set");
            read.batch_divisor = scale.integer("batch_divisor", 1, 1 << 20, 1);
            scale.finish();
            ladder_.scales.emplace(one.name, std::move(read));
        }
    }

    void read_rungs(config::TomlTable& table) {
        const Node* const node = table.require("rung", "[[rung]], once for each rung");
        if (node == nullptr) return;
        if (node->kind != Node::Kind::array || node->children.empty() || node->children.size() > most_rungs)
            return table.wrong(*node, "rung", "[[rung]], 1 to " + std::to_string(most_rungs) + " times");
        for (std::size_t i = 0; i < node->children.size(); ++i) {
            const auto& one = node->children[i];
            config::TomlTable rung(one, "rung[" + std::to_string(i) + "].", one.place, report_);
            Rung read;
            read.line = one.place.line;
            read.name = rung.text("name", config::a_line);
            if (rung.find("on") != nullptr) read.on = rung.text("on", config::a_line);
            read.set = values(rung, "set");
            if (const Node* const command = rung.find("command")) {
                for (const auto& word : command->children) {
                    const auto* const text = std::get_if<std::string>(&word.scalar);
                    if (text == nullptr)
                        rung.wrong(word, "command", "words, as [\"python3\", \"peer.py\"]");
                    else
                        read.program.push_back(*text);
                }
                if (command->kind != Node::Kind::array || command->children.empty())
                    rung.wrong(*command, "command", "a list of words, as [\"python3\", \"peer.py\"]");
            }
            read.published = published(rung);
            rung.finish();
            places_.push_back(one.place);
            on_places_.push_back(rung.find("on") == nullptr ? one.place : rung.find("on")->place);
            ladder_.rungs.push_back(std::move(read));
        }
    }

    Published published(config::TomlTable& rung) {
        const Node* const node = rung.find("published");
        Published read;
        if (node == nullptr) return read;
        if (node->kind != Node::Kind::table) {
            rung.wrong(*node, "published", "a table of figures, as { speedup = 3.5, memory_gb = 6.2 }");
            return read;
        }
        config::TomlTable table(*node, "published.", node->place, report_);
        read.samples_per_second = table.number("samples_per_second");
        read.tokens_per_second = table.number("tokens_per_second");
        read.speedup = table.number("speedup");
        read.memory_gb = table.number("memory_gb");
        if (table.find("batch") != nullptr) read.batch = table.integer("batch", 1, 1 << 24);
        read.learning_rate = table.number("learning_rate");
        table.finish();
        return read;
    }

    void problem(std::size_t rung, const std::string& message, const std::string& hint = "") {
        report_.add(on_places_[rung], "rung \"" + ladder_.rungs[rung].name + "\"", message, "", hint);
    }

    void check_tree() {
        std::map<std::string, int> lines;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < ladder_.rungs.size(); ++i) {
            const auto& rung = ladder_.rungs[i];
            if (rung.name.empty()) continue;
            const auto [first, fresh] = lines.emplace(rung.name, rung.line);
            if (!fresh)
                report_.add(
                    places_[i], "rung \"" + rung.name + "\"",
                    "there are two of this name; the other one is in line " + std::to_string(first->second));
            else
                names.push_back(rung.name);
        }
        std::size_t grounded = 0;
        for (std::size_t i = 0; i < ladder_.rungs.size(); ++i) {
            const auto& rung = ladder_.rungs[i];
            if (rung.on.empty()) {
                if (++grounded > 1)
                    problem(i, "stands on nothing, as another rung does already",
                            "all but the first stand `on` another");
            } else if (!lines.contains(rung.on)) {
                problem(i, "stands on \"" + rung.on + "\", which is not there",
                        config::did_you_mean(config::suggest(rung.on, names)));
            } else if (in_circle(i)) {
                problem(i, "stands on itself, by way of " + circle(i));
            }
        }
        if (grounded == 0 && !ladder_.rungs.empty() && !ladder_.rungs.front().on.empty())
            report_.add(places_.front(), "rung", "no rung stands on the ground", "one without `on`");
    }

    bool in_circle(std::size_t from) const {
        auto at = ladder_.parent(from);
        for (std::size_t steps = 0; at && steps < ladder_.rungs.size(); ++steps) {
            if (*at == from) return true;
            at = ladder_.parent(*at);
        }
        return false;
    }

    std::string circle(std::size_t from) const {
        std::string way;
        for (auto at = ladder_.parent(from); at; at = ladder_.parent(*at)) {
            base::add_item(way, "\"" + ladder_.rungs[*at].name + "\"");
            if (*at == from) break;
        }
        return way;
    }

    // As a tree is read: below each rung all that stands on it, in the order of the file.
    void order() {
        std::vector<Rung> ordered;
        add_all_on("", ordered);
        ladder_.rungs = std::move(ordered);
    }

    void add_all_on(const std::string& below, std::vector<Rung>& ordered) const {
        for (const auto& rung : ladder_.rungs) {
            if (rung.on != below) continue;
            ordered.push_back(rung);
            add_all_on(rung.name, ordered);
        }
    }

    std::string text_, file_;
    config::TomlReport report_;
    Ladder ladder_;
    std::vector<config::Place> places_, on_places_;
};

}  // namespace

std::variant<Ladder, std::string> parse_ladder(const std::string& text, const std::string& file) {
    return Reader(text, file).read();
}

std::variant<Ladder, std::string> read_ladder(const std::string& file) {
    const auto read = config::read_guarded(file);
    if (!read.problems.empty()) return config::render(read.problems);
    return parse_ladder(read.text, file);
}

}  // namespace switchyard::compare
