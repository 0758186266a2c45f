#include "core/kernel/config/load.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "core/kernel/base/limits.h"
#include "core/kernel/config/arm_config.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/derive.h"
#include "core/kernel/config/document.h"
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/override.h"
#include "core/kernel/config/reader.h"
#include "core/kernel/config/suggest.h"

namespace switchyard::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 64;
constexpr std::size_t deepest_include = 16;

std::string canonical(const std::string& path) {
    std::error_code error;
    const auto result = fs::weakly_canonical(path, error);
    return error ? path : result.string();
}

class Loader {
public:
    explicit Loader(const LoadRequest& request) : request_(request) {}

    LoadResult run() {
        const auto overrides = parsed_overrides();
        read_presets_of(overrides);
        if (request_.text) {
            FileText text{*request_.text, guard_text(*request_.text, request_.path)};
            read_text(std::move(text), request_.path, {Origin::Source::file, request_.path});
        } else if (!request_.path.empty()) {
            read_text(read(request_.path), request_.path, {Origin::Source::file, request_.path});
        }
        for (const auto& one : overrides) read_document(one.document, one.source);
        Config config = derive(reading_, request_.schemas, complete_);
        finish_problems();
        LoadResult result{std::nullopt, std::move(reading_.problems), std::move(files_)};
        if (result.problems.empty()) result.config = std::move(config);
        return result;
    }

    std::vector<ArmConfig> arms() { return std::move(reading_.arms); }

private:
    struct Override {
        TextSource source;
        Document document;
    };

    std::vector<Override> parsed_overrides() {
        std::vector<Override> overrides;
        const auto add = [&](const std::string& place, const std::string& text) {
            set_by_.insert(place);
            overrides.push_back(
                {{place, text, "", {Origin::Source::override, place}, false}, parse_override(text, place)});
        };
        for (const auto& [place, text] : request_.implied) add(place, text);
        for (std::size_t i = 0; i < request_.overrides.size(); ++i)
            add(place_of_override(i), request_.overrides[i]);
        return overrides;
    }

    // Before all files: the last of them is the preset, instead of those that files name.
    void read_presets_of(const std::vector<Override>& overrides) {
        const Node* last = nullptr;
        const auto for_each = [&](auto visit) {
            for (const auto& one : overrides) {
                for (const auto& node : one.document.root.children) {
                    if (node.name == "preset") visit(node, one.source);
                }
            }
        };
        for_each([&](const Node& node, const TextSource&) { last = &node; });
        for_each(
            [&](const Node& node, const TextSource& source) { read_preset(node, source, &node == last); });
        preset_set_ = last != nullptr;
    }

    FileText read(const std::string& path) {
        files_.push_back(path);
        return read_guarded(path);
    }

    void add_problems(const std::vector<Problem>& problems) {
        complete_ = complete_ && problems.empty();
        reading_.problems.insert(reading_.problems.end(), problems.begin(), problems.end());
    }

    void read_text(FileText file, const std::string& path, const Origin& origin) {
        order_.push_back(path);
        if (!file.problems.empty()) return add_problems(file.problems);
        chain_.push_back(canonical(path));
        const bool recorded = request_.recorded && path == request_.path;
        const TextSource source{path, std::move(file.text), fs::path(path).parent_path().string(), origin,
                                recorded};
        read_document(parse_document(source.text, path), source);
        chain_.pop_back();
    }

    void read_document(const Document& document, const TextSource& source) {
        const bool preset = source.origin.source == Origin::Source::preset;
        texts_[preset ? "preset " + source.origin.name : source.file] = source.text;
        order_.push_back(source.file);
        add_problems(document.problems);
        const bool override = source.origin.source == Origin::Source::override;
        for (const auto& node : document.root.children) {
            if (node.name == "preset" && !override) read_preset(node, source, !preset_set_);
        }
        for (const auto& node : document.root.children) {
            if (node.name == "include") read_includes(node, source);
        }
        for (const auto& node : document.root.children) {
            if (node.name != model_section || node.kind != Node::Kind::table) continue;
            for (const auto& key : node.children) {
                if (key.name == model_folder_key) read_model_folder(key, source);
            }
        }
        read_tree(document.root, source, request_.schemas, reading_);
    }

    void report(const TextSource& source, Place place, const std::string& key, const std::string& message,
                const std::string& expected, const std::string& hint = {}) {
        add_problems({problem_at(source, place, key, message, expected, hint)});
    }

    std::optional<Value> check(const TextSource& source, ValueType type, const Node& node) {
        return check_value(
            {.type = type}, node, node.name,
            [&](const Node& part, const std::string& key, const std::string& expected, const std::string&) {
                report(source, part.place, key, "got " + describe(part), expected);
            });
    }

    // One that does not count only has to be there.
    void read_preset(const Node& node, const TextSource& source, bool counts) {
        const auto value = check(source, ValueType::string, node);
        if (!value) return;
        const auto& preset = std::get<std::string>(*value);
        const auto names = preset_names(request_.preset_dirs);
        if (std::ranges::count(names, preset) == 0) {
            std::string list = names.empty() ? "none: no presets are installed" : "";
            for (const auto& name : names) list += (list.empty() ? "one of " : ", ") + name;
            const auto near = suggest(preset, names);
            return report(source, node.place, "preset", "there is no preset " + toml_string(preset), list,
                          did_you_mean(near.empty() ? "" : toml_string(near)));
        }
        if (!counts) return;
        const auto path = [&](const std::string& dir) {
            return (fs::path(dir) / (preset + ".toml")).string();
        };
        std::error_code ignored;
        const auto dir = std::ranges::find_if(
            request_.preset_dirs, [&](const std::string& dir) { return fs::exists(path(dir), ignored); });
        if (dir != request_.preset_dirs.end())
            read_named(path(*dir), {Origin::Source::preset, preset}, "preset", node, source);
    }

    void read_includes(const Node& node, const TextSource& source) {
        const bool list = node.kind == Node::Kind::array;
        if (!check(source, list ? ValueType::list : ValueType::string, node)) return;
        for (const auto& path : list ? node.children : std::vector<Node>{node}) {
            const std::string file =
                (fs::path(source.directory) / std::get<std::string>(path.scalar)).lexically_normal().string();
            read_named(file, {Origin::Source::file, file}, "include", path, source);
        }
    }

    // Its values have no places of their own: they were not written as TOML.
    void read_model_folder(const Node& node, const TextSource& source) {
        const auto key = std::string(model_section) + '.' + std::string(model_folder_key);
        if (!check(source, ValueType::string, node)) return;
        const auto& named = std::get<std::string>(node.scalar);
        const auto folder = (fs::path(source.directory) / named).lexically_normal().string();
        if (!request_.read_model_folder)
            return report(source, node.place, key, "cannot be used here", "sizes instead of a folder");
        const auto read = request_.read_model_folder(folder);
        if (!read.error.empty()) return report(source, node.place, key, read.error, "");
        auto document = parse_document(read.text, read.file);
        forget_places(document.root);
        order_.push_back(read.file);
        add_problems(document.problems);
        read_tree(document.root, {read.file, read.text, folder, {Origin::Source::file, read.file}},
                  request_.schemas, reading_);
    }

    static void forget_places(Node& node) {
        node.place = node.name_place = {};
        for (auto& child : node.children) forget_places(child);
    }

    // Reads the file that `node` in `from` names.
    void read_named(const std::string& path, const Origin& origin, const std::string& key, const Node& node,
                    const TextSource& from) {
        const auto before = std::ranges::find(chain_, canonical(path));
        if (before != chain_.end()) {
            std::string circle;
            for (auto step = before; step != chain_.end(); ++step)
                circle += fs::path(*step).filename().string() + " -> ";
            return report(
                from, node.place, key,
                "files include each other in a circle: " + circle + fs::path(path).filename().string(),
                "files that do not lead back to themselves");
        }
        if (chain_.size() > deepest_include) {
            return report(from, node.place, key, "includes are nested too deeply",
                          "at most " + std::to_string(deepest_include) + " levels");
        }
        if (files_.size() == most_files) {
            if (std::exchange(too_many_files_, true)) return;
            return report(from, node.place, key, "too many files are read",
                          "at most " + std::to_string(most_files));
        }
        FileText file = read(path);
        const bool unreadable = !file.problems.empty() && file.problems.front().line == 0;
        if (!unreadable) return read_text(std::move(file), path, origin);
        report(from, node.place, key, path + " " + file.problems.front().message,
               file.problems.front().expected);
    }

    // Sorts by place. Problems of several values together know their origin, but not yet the line to show.
    void finish_problems() {
        auto& problems = reading_.problems;
        for (auto& problem : problems) {
            const bool override = set_by_.contains(problem.file);
            const auto text = texts_.find(problem.file);
            const int line = override ? 1 : problem.line;
            if (text != texts_.end() && line > 0) problem.source = line_for_display(text->second, line);
            if (override) problem.line = 0;
            if (problem.file.empty()) problem.file = request_.path;
        }
        const auto place = [this](const Problem& problem) {
            return std::tuple(std::ranges::find(order_, problem.file) - order_.begin(), problem.line,
                              problem.column);
        };
        std::ranges::stable_sort(problems, {}, place);
        const auto told = std::min(problems.size(), base::limits::listed_problems);
        const auto untold = reading_.untold + problems.size() - told;
        problems.resize(told);
        if (untold > 0)
            problems.push_back(
                {.file = request_.path, .message = "and " + std::to_string(untold) + " more problems"});
    }

    const LoadRequest& request_;
    Reading reading_;
    bool complete_ = true;  // all texts could be read to their ends
    bool too_many_files_ = false;
    bool preset_set_ = false;       // by an override
    std::set<std::string> set_by_;  // options that gave a value
    std::vector<std::string> files_;
    std::vector<std::string> chain_;  // files being read, outermost first
    std::vector<std::string> order_;  // of all texts
    std::map<std::string, std::string> texts_;
};

}  // namespace

std::string place_of_override(std::size_t index) { return "--set #" + std::to_string(index + 1); }

LoadResult load(const LoadRequest& request) { return Loader(request).run(); }

std::vector<ArmConfig> load_arms(const LoadRequest& request) {
    Loader loader(request);
    (void)loader.run();
    return loader.arms();
}

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
