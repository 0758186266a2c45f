#include <switchyard/host/discovery/library_search.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace switchyard::host {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_libraries = 1000;  // that one plugin may bring along

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
        const auto end = std::min(text.find(':', begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// Folders of an RPATH or RUNPATH; those that begin with $ORIGIN are relative to the library's own.
std::vector<std::string> folders(const std::string& path, const std::string& library) {
    std::vector<std::string> result = split(path);
    for (std::string& folder : result) {
        for (const char* origin : {"$ORIGIN", "${ORIGIN}"}) {
            const auto at = folder.find(origin);
            if (at != std::string::npos)
                folder.replace(at, std::strlen(origin), fs::path(library).parent_path().string());
        }
    }
    return result;
}

bool loadable(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return false;
    const ElfResult elf = read_elf(path);
    return elf.error == ElfError::none && elf.image.machine == elf_machine_x86_64;
}

// "GLIBCXX_3.4.30" -> "GLIBCXX", {3, 4, 30}
std::pair<std::string, std::vector<int>> version_parts(const std::string& version) {
    const auto underscore = version.rfind('_');
    std::vector<int> numbers{0};
    for (std::size_t i = underscore + 1; underscore != std::string::npos && i < version.size(); ++i) {
        if (version[i] == '.')
            numbers.push_back(0);
        else if (version[i] >= '0' && version[i] <= '9' && numbers.back() < 1000000)
            numbers.back() = numbers.back() * 10 + (version[i] - '0');
    }
    return {version.substr(0, underscore), numbers};
}

// The highest version of the same family, to show how far off a library is.
std::string highest_like(const std::string& wanted, const std::vector<std::string>& definitions) {
    std::string highest;
    for (const std::string& definition : definitions) {
        if (version_parts(definition).first != version_parts(wanted).first) continue;
        if (highest.empty() || version_parts(highest).second < version_parts(definition).second)
            highest = definition;
    }
    return highest;
}

}  // namespace

std::map<std::string, std::string> parse_loader_cache(const std::string& content) {
    // struct cache_file_new of glibc's dl-cache.h: 20 bytes of magic, u32 count, u32 length of strings, 20 bytes; then entries.
    constexpr std::string_view magic = "glibc-ld.so.cache1.1";
    constexpr std::size_t header = 48;
    constexpr std::size_t entry_size = 24;  // i32 flags, u32 key, u32 value, u32 osversion, u64 hwcap
    constexpr std::uint32_t x86_64_libc6 = 0x0303;
    std::map<std::string, std::string> files;
    const auto begin = content.find(magic);  // an older format may stand before it
    if (begin == std::string::npos || content.size() - begin < header) return files;
    const std::string_view cache = std::string_view(content).substr(begin);
    const auto number = [&](std::size_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, cache.data() + at, sizeof(value));
        return value;
    };
    const auto text = [&](std::uint32_t at) {
        return at < cache.size() ? std::string(cache.substr(at, cache.substr(at).find('\0'))) : std::string{};
    };
    const std::size_t count = std::min<std::size_t>(number(20), (cache.size() - header) / entry_size);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = header + i * entry_size;
        const bool plain = number(at + 16) == 0 && number(at + 20) == 0;  // no requirement on the processor
        if (number(at) == x86_64_libc6 && plain) files.emplace(text(number(at + 4)), text(number(at + 8)));
    }
    return files;
}

// A library whose needs are to be looked for.
struct LibrarySearch::Pending {
    std::string path;
    ElfImage image;
    std::vector<std::string> rpaths;  // of those that led here, and its own
    std::string by;                   // for messages: " (needed by libx.so)"
};

LibrarySearch::LibrarySearch(const std::string& program) {
    std::ifstream file("/etc/ld.so.cache", std::ios::binary);
    cache_ = parse_loader_cache({std::istreambuf_iterator<char>(file), {}});
    program_ = closure(program, read_elf(program).image, loaded_);
}

std::string LibrarySearch::loaded(const std::string& soname) const {
    const auto found = loaded_.find(soname);
    return found == loaded_.end() ? std::string{} : found->second;
}

std::string LibrarySearch::locate(const std::string& soname, const Pending& by) {
    if (soname.find('/') != std::string::npos) return loadable(soname) ? soname : std::string{};
    std::vector<std::string> places;
    if (by.image.runpath.empty()) places = by.rpaths;
    const char* variable = std::getenv("LD_LIBRARY_PATH");
    for (const std::string& folder : split(variable == nullptr ? "" : variable)) places.push_back(folder);
    for (const std::string& folder : folders(by.image.runpath, by.path)) places.push_back(folder);
    for (const std::string& folder : places) {
        if (loadable(folder + "/" + soname)) return folder + "/" + soname;
    }
    const auto cached = cache_.find(soname);
    if (cached != cache_.end() && loadable(cached->second)) return cached->second;
    for (const char* folder :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
        if (loadable(std::string(folder) + "/" + soname)) return std::string(folder) + "/" + soname;
    }
    return {};
}

void LibrarySearch::follow(const Pending& pending, std::vector<Pending>& queue,
                           std::map<std::string, std::string>& known, LibraryCheck& check) {
    for (const std::string& soname : pending.image.needed) {
        if (known.count(soname) != 0) continue;
        const std::string path = locate(soname, pending);
        known[soname] = path;
        if (path.empty()) {
            check.problems.push_back({"needs " + soname + pending.by + ", which was not found",
                                      {},
                                      {},
                                      "install it, or put its folder into LD_LIBRARY_PATH"});
            continue;
        }
        check.files.push_back(path);
        Pending next{path, read_elf(path).image, {}, " (needed by " + soname + ")"};
        if (!next.image.soname.empty()) known.emplace(next.image.soname, path);
        if (next.image.runpath.empty()) next.rpaths = folders(next.image.rpath, path);
        next.rpaths.insert(next.rpaths.end(), pending.rpaths.begin(), pending.rpaths.end());
        if (queue.size() < most_libraries) queue.push_back(std::move(next));
    }
}

LibraryCheck LibrarySearch::closure(const std::string& path, const ElfImage& image,
                                    std::map<std::string, std::string>& known) {
    LibraryCheck check;
    std::vector<Pending> queue{
        {path, image, image.runpath.empty() ? folders(image.rpath, path) : std::vector<std::string>{}, ""}};
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const Pending pending = queue[i];
        follow(pending, queue, known, check);
    }
    return check;
}

const std::vector<std::string>& LibrarySearch::definitions(const std::string& path) {
    const auto found = definitions_.find(path);
    if (found != definitions_.end()) return found->second;
    return definitions_[path] =
               read_elf(path, {.section = {}, .version_definitions = true}).image.version_definitions;
}

void LibrarySearch::check_versions(const ElfImage& image, const std::map<std::string, std::string>& known,
                                   LibraryCheck& check) {
    for (const VersionNeed& need : image.version_needs) {
        const auto found = known.find(need.library);
        if (found == known.end() || found->second.empty()) continue;
        const std::vector<std::string>& there = definitions(found->second);
        if (there.empty() || std::find(there.begin(), there.end(), need.version) != there.end()) continue;
        const std::string highest = highest_like(need.version, there);
        check.problems.push_back(
            {"needs " + need.version + " of " + need.library + ", which " + found->second + " does not have",
             need.version, highest.empty() ? "nothing like it" : "at most " + highest,
             "rebuild it on this system, or on an older one"});
    }
}

LibraryCheck LibrarySearch::check(const std::string& path, const ElfImage& image) {
    std::map<std::string, std::string> known = loaded_;
    LibraryCheck result = closure(path, image, known);
    check_versions(image, known, result);
    return result;
}

}  // namespace switchyard::host
