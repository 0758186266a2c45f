#include "core/kernel/trust/plugin_lock.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/document.h"
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/problem.h"
#include "core/kernel/config/value.h"

namespace switchyard::trust {

using base::InputError;
using config::Node;

namespace {

constexpr int lock_format = 1;
constexpr const char* version_key = "switchyard_plugins_lock";

const char* const again = "if the change is wanted, `switchyard plugins lock` writes the file again";

class Reading {
public:
    explicit Reading(const std::string& file) : file_(file) {}

    PluginLock read(const std::string& text) {
        problems_ = config::guard_text(text, file_);
        if (!problems_.empty()) fail();
        const auto document = config::parse_document(text, file_);
        problems_ = document.problems;
        PluginLock lock;
        lock.file = file_;
        bool version = false;
        for (const auto& node : document.root.children) {
            if (node.name == version_key)
                version = check_version(node);
            else if (node.name == "plugin" && node.kind == Node::Kind::array)
                read_plugins(node, lock);
            else
                complain(node, "is no key of a lock of plugins",
                         std::string(version_key) + " and [[plugin]]");
        }
        if (!version && problems_.empty())
            complain(document.root, "it is no lock of plugins",
                     "a file that `switchyard plugins lock` wrote");
        if (!problems_.empty()) fail();
        return lock;
    }

private:
    [[noreturn]] void fail() const {
        auto text = config::render(problems_);
        while (text.ends_with('\n')) text.pop_back();
        throw InputError(text);
    }

    void complain(const Node& node, const std::string& message, const std::string& expected) {
        config::Problem problem;
        problem.file = file_;
        problem.line = node.name_place.line > 0 ? node.name_place.line : node.place.line;
        problem.column = node.name_place.line > 0 ? node.name_place.column : node.place.column;
        problem.key = node.name;
        problem.message = message;
        problem.expected = expected;
        problems_.push_back(std::move(problem));
    }

    bool check_version(const Node& node) {
        const auto* const version = std::get_if<std::int64_t>(&node.scalar);
        if (version == nullptr || *version != lock_format)
            complain(node, "got " + config::describe(node),
                     std::to_string(lock_format) + ", the form that is read");
        return true;
    }

    void read_plugins(const Node& list, PluginLock& lock) {
        std::set<std::string> names;
        for (const auto& table : list.children) {
            LockedPlugin plugin;
            if (table.kind != Node::Kind::table) {
                complain(table, "got " + config::describe(table), "a table");
                continue;
            }
            read_plugin(table, plugin);
            if (!names.insert(plugin.name).second)
                complain(table, "\"" + base::quoted(plugin.name) + "\" is locked twice", "each plugin once");
            lock.plugins.push_back(std::move(plugin));
        }
    }

    void read_plugin(const Node& table, LockedPlugin& plugin) {
        const std::pair<const char*, std::string*> keys[] = {{"name", &plugin.name},
                                                             {"version", &plugin.version},
                                                             {"abi", &plugin.abi},
                                                             {"layout", &plugin.layout},
                                                             {"sha256", &plugin.content.library},
                                                             {"cuda_sha256", &plugin.content.cuda}};
        std::set<std::string> given;
        for (const auto& node : table.children) {
            const auto* const known = std::find_if(std::begin(keys), std::end(keys),
                                                   [&](const auto& key) { return node.name == key.first; });
            const auto* const text = std::get_if<std::string>(&node.scalar);
            if (known == std::end(keys))
                complain(node, "is no key of a locked plugin",
                         "name, version, sha256, cuda_sha256, abi or layout");
            else if (node.kind != Node::Kind::string || text == nullptr)
                complain(node, "got " + config::describe(node), "a string");
            else
                *known->second = *text;
            given.insert(node.name);
        }
        for (const auto& [key, value] : keys) {
            if (!given.contains(key) && std::string_view(key) != "cuda_sha256")
                complain(table, std::string("a plugin has no ") + key, "a text");
        }
    }

    const std::string& file_;
    std::vector<config::Problem> problems_;
};

std::string value_in(const loader::Fingerprint& fingerprint, std::string_view key) {
    const auto found = fingerprint.find(key);
    return found == fingerprint.end() ? std::string{} : found->second;
}

// "0123..., attention 4567...": what all kinds share, and the plugin's own.
std::string layouts_of(const loader::Manifest& manifest) {
    std::set<Kind> kinds;
    for (const auto& component : manifest.components) kinds.insert(component.kind);
    std::string text = value_in(manifest.fingerprint, "layout");
    for (const Kind kind : kinds) {
        const std::string of_kind(name(kind));
        text += ", " + of_kind + " " + value_in(manifest.fingerprint, "layout_" + of_kind);
    }
    return text;
}

}  // namespace

const LockedPlugin* PluginLock::find(std::string_view name) const {
    const auto found =
        std::find_if(plugins.begin(), plugins.end(), [&](const auto& plugin) { return plugin.name == name; });
    return found == plugins.end() ? nullptr : &*found;
}

LockedPlugin locked_as(const loader::PluginRecord& record) {
    const auto& manifest = *record.manifest;
    LockedPlugin plugin{manifest.name, manifest.version, content_of(record.path),
                        std::to_string(manifest.abi_major) + "." + std::to_string(manifest.abi_minor),
                        layouts_of(manifest)};
    if (plugin.content.library.empty())
        throw InputError(base::printable(record.path) +
                         ": error: it, or its library for CUDA, cannot be read; expected a plugin to lock");
    return plugin;
}

std::string to_toml(PluginLock lock) {
    std::sort(lock.plugins.begin(), lock.plugins.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    std::string text =
        "# Plugins by content, as `switchyard plugins lock` found them; `--locked` refuses what differs.\n" +
        std::string(version_key) + " = " + std::to_string(lock_format) + "\n";
    for (const auto& plugin : lock.plugins) {
        const auto line = [&](const char* key, const std::string& value) {
            text += std::string(key) + " = " + config::toml_string(value) + "\n";
        };
        text += "\n[[plugin]]\n";
        line("name", plugin.name);
        line("version", plugin.version);
        line("sha256", plugin.content.library);
        if (!plugin.content.cuda.empty()) line("cuda_sha256", plugin.content.cuda);
        line("abi", plugin.abi);
        line("layout", plugin.layout);
    }
    return text;
}

PluginLock parse_lock(const std::string& text, const std::string& file) { return Reading(file).read(text); }

PluginLock read_lock(const std::string& file) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
        throw InputError(
            base::printable(file) +
            ": error: there is no such file; expected a lock of plugins, which `switchyard plugins "
            "lock` writes");
    auto read = config::read_guarded(file);
    if (!read.problems.empty()) throw InputError(config::render(read.problems));
    return parse_lock(read.text, file);
}

std::optional<loader::GateOutcome> difference(const PluginLock& lock, const loader::PluginRecord& record) {
    using loader::Gate;
    const auto file = base::printable(lock.file);
    const auto* const locked = lock.find(record.manifest->name);
    if (locked == nullptr)
        return loader::refused(Gate::trust, "it is not in the lock of plugins", "one of those in " + file, {},
                               "if it is to be used, `switchyard plugins lock` writes the file again");
    const auto& manifest = *record.manifest;
    if (locked->version != manifest.version)
        return loader::refused(Gate::trust, "its version is not the one that is locked in " + file,
                               base::quoted(manifest.name + " " + locked->version),
                               base::quoted(manifest.name + " " + manifest.version), again);
    const auto content = content_of(record.path);
    if (locked->content != content)
        return loader::refused(Gate::trust, "its content is not what is locked in " + file,
                               to_text(locked->content),
                               content.library.empty() ? "what cannot be read" : to_text(content), again);
    return std::nullopt;
}

std::vector<std::string> differences(const PluginLock& lock, const std::vector<loader::PluginRecord>& found) {
    std::vector<std::string> lines;
    for (const auto& locked : lock.plugins) {
        const auto record = std::find_if(found.begin(), found.end(), [&](const auto& one) {
            const auto* const failure = one.failure();
            const bool passed_over = failure != nullptr && (failure->gate == loader::Gate::duplicate ||
                                                            failure->gate == loader::Gate::disabled);
            return one.manifest && one.manifest->name == locked.name && !passed_over;
        });
        if (record == found.end()) {
            lines.push_back(base::quoted(locked.name + " " + locked.version) + ": locked " +
                            to_text(locked.content) + ", and there is no plugin of that name now");
            continue;
        }
        const auto now = content_of(record->path);
        if (now != locked.content || record->manifest->version != locked.version)
            lines.push_back(base::quoted(locked.name) + ": locked " + base::quoted(locked.version) + ", " +
                            to_text(locked.content) + "; now " + base::quoted(record->manifest->version) +
                            ", " + (now.library.empty() ? "which cannot be read" : to_text(now)) + " (" +
                            base::printable(record->path) + ")");
    }
    return lines;
}

}  // namespace switchyard::trust
