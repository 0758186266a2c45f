#include <switchyard/config/load.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>

#include <switchyard/config/check_value.h>
#include <switchyard/config/derive.h>
#include <switchyard/config/document.h>
#include <switchyard/config/guard_text.h>
#include <switchyard/config/override.h>
#include <switchyard/config/reader.h>
#include <switchyard/config/suggest.h>
#include <switchyard/config/table.h>

namespace switchyard::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 64;
constexpr std::size_t deepest_include = 16;

class Loader {
public:
    explicit Loader(const LoadRequest& request) : request_(request) {}

    LoadResult run() {
        if (request_.text) {
            add_problems(guard_text(*request_.text, request_.path));
            if (reading_.problems.empty()) read_text(main_source(*request_.text));
        } else if (!request_.path.empty()) {
            read_main_file();
        }
        for (std::size_t i = 0; i < request_.overrides.size(); ++i)
            read_override(request_.overrides[i], i + 1);
        Config config = derive(reading_, request_.schemas, complete_);
        finish_problems();
        LoadResult result{std::nullopt, std::move(reading_.problems), std::move(files_)};
        if (result.problems.empty()) result.config = std::move(config);
        return result;
    }

private:
    TextSource main_source(std::string text) const {
        return {request_.path,
                std::move(text),
                fs::path(request_.path).parent_path().string(),
                {.source = Origin::Source::file, .name = request_.path}};
    }

    void add_problems(std::vector<Problem> problems) {
        complete_ = complete_ && problems.empty();
        for (auto& problem : problems) reading_.problems.push_back(std::move(problem));
    }

    void read_main_file() {
        FileText file = read_guarded(request_.path);
        files_.push_back(request_.path);
        if (!file.problems.empty()) return add_problems(std::move(file.problems));
        chain_.push_back(canonical(request_.path));
        read_text(main_source(std::move(file.text)));
        chain_.pop_back();
    }

    static std::string canonical(const std::string& path) {
        std::error_code error;
        const auto result = fs::weakly_canonical(path, error);
        return error ? path : result.string();
    }

    void read_text(const TextSource& source) {
        remember(source);
        read_document(parse_document(source.text, source.file), source);
    }

    void read_override(const std::string& text, std::size_t number) {
        const std::string name = "--set #" + std::to_string(number);
        const TextSource source{name, text, "", {.source = Origin::Source::override, .name = name}};
        remember(source);
        read_document(parse_override(text, name), source);
    }

    void read_document(Document document, const TextSource& source) {
        add_problems(std::move(document.problems));
        for (const auto& node : document.root.children) {
            if (node.name == "preset" && node.name_place.line < document.reliable_lines)
                read_preset(node, source);
        }
        for (const auto& node : document.root.children) {
            if (node.name == "include" && node.name_place.line < document.reliable_lines)
                read_includes(node, source);
        }
        read_tree(document, source, request_.schemas, reading_);
    }

    void report(const TextSource& source, Place place, const std::string& key, const std::string& message,
                const std::string& expected = {}, const std::string& hint = {}) {
        complete_ = false;
        reading_.problems.push_back(problem_at(source, place, key, message, expected, hint));
    }

    void read_preset(const Node& node, const TextSource& source) {
        const auto value = check_value({.type = Type::text}, node, "preset", complain(source));
        if (!value) return;
        const auto& preset = std::get<std::string>(*value);
        const auto names = preset_names(request_.preset_dirs);
        if (std::find(names.begin(), names.end(), preset) == names.end()) {
            std::string list;
            for (const auto& name : names) list += (list.empty() ? "one of " : ", ") + name;
            const auto near = suggest(preset, names);
            return report(source, node.place, "preset", "there is no preset " + toml_string(preset),
                          list.empty() ? "none: no presets are installed" : list,
                          near.empty() ? "" : "did you mean " + toml_string(near) + "?");
        }
        for (const auto& dir : request_.preset_dirs) {
            const auto path = fs::path(dir) / (preset + ".toml");
            std::error_code ignored;
            if (!fs::exists(path, ignored)) continue;
            return read_file(path.string(), {.source = Origin::Source::preset, .name = preset}, node, source);
        }
    }

    void read_includes(const Node& node, const TextSource& source) {
        const Type type = node.kind == Node::Kind::array ? Type::texts : Type::text;
        const auto value = check_value({.type = type}, node, "include", complain(source));
        if (!value) return;
        if (type == Type::text) return read_include(node, std::get<std::string>(*value), source);
        const auto& paths = std::get<std::vector<std::string>>(*value);
        for (std::size_t i = 0; i < paths.size(); ++i) read_include(node.children[i], paths[i], source);
    }

    void read_include(const Node& node, const std::string& path, const TextSource& source) {
        const std::string file = (fs::path(source.directory) / path).lexically_normal().string();
        read_file(file, {.source = Origin::Source::file, .name = file}, node, source);
    }

    // Reads what `node` in `from` names, a preset or an include.
    void read_file(const std::string& path, const Origin& origin, const Node& node, const TextSource& from) {
        const std::string key = origin.source == Origin::Source::preset ? "preset" : "include";
        const std::string identity = canonical(path);
        const auto before = std::find(chain_.begin(), chain_.end(), identity);
        if (before != chain_.end()) {
            std::string cycle;
            for (auto step = before; step != chain_.end(); ++step)
                cycle += fs::path(*step).filename().string() + " -> ";
            return report(
                from, node.place, key,
                "files include each other in a circle: " + cycle + fs::path(path).filename().string(),
                "files that do not lead back to themselves");
        }
        if (chain_.size() > deepest_include) {
            return report(from, node.place, key, "includes are nested too deeply",
                          "at most " + std::to_string(deepest_include) + " levels");
        }
        if (files_.size() >= most_files) {
            if (!std::exchange(too_many_files_, true)) {
                report(from, node.place, key, "too many files are read",
                       "at most " + std::to_string(most_files));
            }
            return;
        }
        FileText file = read_guarded(path);
        files_.push_back(path);
        if (!file.problems.empty() && file.problems.front().line == 0) {
            return report(from, node.place, key, path + " " + file.problems.front().message,
                          file.problems.front().expected);
        }
        if (!file.problems.empty()) return add_problems(std::move(file.problems));
        chain_.push_back(identity);
        read_text({path, std::move(file.text), fs::path(path).parent_path().string(), origin});
        chain_.pop_back();
    }

    Complain complain(const TextSource& source) {
        return [this, &source](const Node& node, const std::string& key, const std::string& expected,
                               const std::string& hint) {
            report(source, node.place, key, "got " + describe(node), expected, hint);
        };
    }

    // Problems of several values together know their origin, not the text: it is kept under the name that
    // they use.
    void remember(const TextSource& source) {
        const bool preset = source.origin.source == Origin::Source::preset;
        order_.push_back(source.file);
        texts_.emplace(preset ? "preset " + source.origin.name : source.file, source.text);
    }

    void finish_problems() {
        auto& problems = reading_.problems;
        const auto rank = [this](const Problem& problem) {
            return std::find(order_.begin(), order_.end(), problem.file) - order_.begin();
        };
        for (auto& problem : problems) {
            const auto text = texts_.find(problem.file);
            if (problem.file.empty()) problem.file = request_.path;
            const bool override = problem.file.rfind("--set #", 0) == 0;
            const int line = override ? 1 : problem.line;
            if (override) problem.line = 0;
            if (problem.source.empty() && text != texts_.end() && line > 0)
                problem.source = line_for_display(text->second, line);
        }
        std::stable_sort(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) {
            return std::tuple(rank(a), a.line, a.column) < std::tuple(rank(b), b.line, b.column);
        });
        if (reading_.untold > 0) {
            problems.push_back(
                {.file = request_.path,
                 .message = "there are " + std::to_string(reading_.untold) + " more problems"});
        }
    }

    const LoadRequest& request_;
    Reading reading_;
    bool complete_ = true;
    bool too_many_files_ = false;
    std::vector<std::string> files_;
    std::vector<std::string> chain_;  // files being read, outermost first
    std::vector<std::string> order_;
    std::map<std::string, std::string> texts_;
};

}  // namespace

LoadResult load(const LoadRequest& request) { return Loader(request).run(); }

std::vector<std::string> preset_names(const std::vector<std::string>& preset_dirs) {
    std::set<std::string> names;
    for (const auto& dir : preset_dirs) {
        std::error_code error;
        for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error)) {
            if (entry->path().extension() == ".toml") names.insert(entry->path().stem().string());
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace switchyard::config
