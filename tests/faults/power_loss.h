// What a disk may hold after the power went away: a model of a file system that keeps what was synced, and of
// the rest as much or as little as it likes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace switchyard::test {

// One line of injector.cpp's record.
struct Change {
    std::string op, path, other;
    std::size_t offset = 0;
    std::string bytes;
};

std::vector<Change> read_changes(const std::filesystem::path& recording);

// What of the changes that no fsync covered is there when the power comes back. POSIX promises a file's
// content after fsync of the file, and a folder's names after fsync of the folder, nothing else.
enum class Kept {
    synced,  // the least: only what was synced, of contents and of names
    // all names, with the contents that were synced: new files are empty, as where ext4 allocates late
    names,
    names_and_half,  // likewise, and half of what was written since
    contents,        // the names that were synced, with everything that was written into their files
};
inline constexpr Kept every_kept[] = {Kept::synced, Kept::names, Kept::names_and_half, Kept::contents};

class Disk {
public:
    // Everything below the folder, synced.
    explicit Disk(const std::filesystem::path& folder);

    void apply(const Change& change);

    // Files with their contents and folders (with a '/' at the end) by name relative to the folder.
    using Tree = std::map<std::string, std::string>;
    Tree after_power_loss(Kept kept) const;

private:
    struct Node;
    using Entries = std::map<std::string, std::shared_ptr<Node>>;
    struct Node {
        bool folder = false;
        std::string live, synced;  // of a file
        Entries entries, synced_entries;
    };

    std::shared_ptr<Node> find(const std::string& path) const;  // nullptr: not there
    // The folder that a path is in, which must be there, and the path's last part.
    std::pair<std::shared_ptr<Node>, std::string> parent(const std::string& path) const;
    static std::shared_ptr<Node> read(const std::filesystem::path& path);
    static void list(const Node& node, Kept kept, const std::string& prefix, Tree& tree);

    std::string root_;
    std::shared_ptr<Node> top_;
};

// Makes a folder hold that, and nothing else.
void write_tree(const std::filesystem::path& folder, const Disk::Tree& tree);

}  // namespace switchyard::test
