// Which file the dynamic loader would take for each library that a plugin needs, found out without loading anything.
//
// The loader's order (ld.so(8)): what the program has already loaded under that name; DT_RPATH of the library that needs it and of
// those that led to it, if it has no DT_RUNPATH; LD_LIBRARY_PATH; DT_RUNPATH; /etc/ld.so.cache; the system's folders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <switchyard/host/discovery/elf_image.h>

namespace switchyard::host {

struct LibraryProblem {
    std::string reason, expected, got, hint;
};

struct LibraryCheck {
    std::vector<LibraryProblem> problems;  // libraries that are missing, versions that they do not have
    std::vector<std::string> files;        // what the plugin brings along beyond the program's own libraries
};

class LibrarySearch {
public:
    // `program`: the one that will load plugins.
    explicit LibrarySearch(const std::string& program);

    // The file that the program has as `soname` ("libtorch_cpu.so"); empty if it has none.
    std::string loaded(const std::string& soname) const;
    // What the program itself lacks.
    const std::vector<LibraryProblem>& program_problems() const { return program_.problems; }

    LibraryCheck check(const std::string& path, const ElfImage& image);

private:
    struct Pending;
    void follow(const Pending& pending, std::vector<Pending>& queue,
                std::map<std::string, std::string>& known, LibraryCheck& check);
    LibraryCheck closure(const std::string& path, const ElfImage& image,
                         std::map<std::string, std::string>& known);
    std::string locate(const std::string& soname, const Pending& by);
    void check_versions(const ElfImage& image, const std::map<std::string, std::string>& known,
                        LibraryCheck& check);
    const std::vector<std::string>& definitions(const std::string& path);

    std::map<std::string, std::string> cache_;   // ld.so.cache: name -> file
    std::map<std::string, std::string> loaded_;  // the program's libraries: name -> file
    std::map<std::string, std::vector<std::string>> definitions_;
    LibraryCheck program_;
};

// /etc/ld.so.cache in its current format (glibc 2.2 and newer), x86-64 libraries only; empty if `content` is anything else.
std::map<std::string, std::string> parse_loader_cache(const std::string& content);

}  // namespace switchyard::host
