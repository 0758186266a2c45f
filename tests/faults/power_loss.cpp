#include "power_loss.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tiny_job.h"

namespace switchyard::test {

std::vector<Change> read_changes(const fs::path& recording) {
    std::vector<Change> changes;
    std::istringstream file(bytes_of(recording));
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        Change change;
        std::string offset, length;
        std::getline(fields, change.op, '\t');
        std::getline(fields, change.path, '\t');
        std::getline(fields, change.other, '\t');
        std::getline(fields, offset, '\t');
        std::getline(fields, length, '\t');
        change.offset = std::stoul(offset);
        change.bytes.resize(std::stoul(length));
        if (!file.read(change.bytes.data(), static_cast<std::streamsize>(change.bytes.size())))
            throw std::runtime_error("the recording ends in the middle of a write to " + change.path);
        changes.push_back(std::move(change));
    }
    return changes;
}

std::shared_ptr<Disk::Node> Disk::read(const fs::path& path) {
    auto node = std::make_shared<Node>();
    node->folder = fs::is_directory(path);
    if (!node->folder) {
        node->live = node->synced = bytes_of(path);
        return node;
    }
    for (const auto& entry : fs::directory_iterator(path))
        node->entries[entry.path().filename().string()] = read(entry.path());
    node->synced_entries = node->entries;
    return node;
}

Disk::Disk(const fs::path& folder) : root_(folder.string()), top_(read(folder)) {}

std::shared_ptr<Disk::Node> Disk::find(const std::string& path) const {
    if (!path.starts_with(root_)) throw std::runtime_error(path + " is not below " + root_);
    auto node = top_;
    std::istringstream parts(path.substr(root_.size()));
    for (std::string part; node && std::getline(parts, part, '/');) {
        if (part.empty()) continue;
        const auto found = node->entries.find(part);
        node = found == node->entries.end() ? nullptr : found->second;
    }
    return node;
}

std::pair<std::shared_ptr<Disk::Node>, std::string> Disk::parent(const std::string& path) const {
    const fs::path whole = fs::path(path).has_filename() ? fs::path(path) : fs::path(path).parent_path();
    auto folder = find(whole.parent_path().string());
    if (!folder) throw std::runtime_error("the recording changes " + path + ", whose folder it never made");
    return {std::move(folder), whole.filename().string()};
}

void Disk::apply(const Change& change) {
    const auto node = find(change.path);
    if (change.op == "create" || change.op == "mkdir") {
        if (node) return;
        const auto [folder, name] = parent(change.path);
        folder->entries[name] = std::make_shared<Node>();
        folder->entries[name]->folder = change.op == "mkdir";
        return;
    }
    if (!node) {
        // A file that was removed or replaced while it was open: nobody can find it again.
        if (change.op == "write" || change.op == "truncate" || change.op == "sync") return;
        throw std::runtime_error("the recording has " + change.op + " of " + change.path +
                                 ", which is not there");
    }
    if (change.op == "write") {
        node->live.resize(std::max(node->live.size(), change.offset + change.bytes.size()));
        node->live.replace(change.offset, change.bytes.size(), change.bytes);
    } else if (change.op == "truncate") {
        node->live.resize(change.offset);
    } else if (change.op == "sync") {
        node->synced = node->live;
        node->synced_entries = node->entries;
    } else if (change.op == "remove" || change.op == "rename") {
        const auto [folder, name] = parent(change.path);
        folder->entries.erase(name);
        if (change.op == "remove") return;
        const auto [new_folder, new_name] = parent(change.other);
        new_folder->entries[new_name] = node;
    } else {
        throw std::runtime_error("the recording has an unknown change: " + change.op);
    }
}

void Disk::list(const Node& node, Kept kept, const std::string& prefix, Tree& tree) {
    const bool all_names = kept == Kept::names || kept == Kept::names_and_half;
    for (const auto& [name, entry] : all_names ? node.entries : node.synced_entries) {
        if (entry->folder) {
            tree[prefix + name + "/"] = "";
            list(*entry, kept, prefix + name + "/", tree);
            continue;
        }
        std::string content = kept == Kept::contents ? entry->live : entry->synced;
        if (kept == Kept::names_and_half && entry->live != entry->synced) {
            const auto grown = entry->live.starts_with(entry->synced) ? entry->synced.size() : 0;
            content = entry->live.substr(0, grown + (entry->live.size() - grown) / 2);
        }
        tree[prefix + name] = content;
    }
}

Disk::Tree Disk::after_power_loss(Kept kept) const {
    Tree tree;
    list(*top_, kept, "", tree);
    return tree;
}

void write_tree(const fs::path& folder, const Disk::Tree& tree) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const auto& [name, content] : tree) {
        if (name.ends_with('/'))
            fs::create_directories(folder / name);
        else
            std::ofstream(folder / name, std::ios::binary) << content;
    }
}

}  // namespace switchyard::test
