// The test `fuzz`: runs every target over its seeds (one case a target) and over each file in regress/TARGET
// (one case a file), with any compiler. A crash is told by `./dev test` as the case in which it happened.
// With arguments it runs one target over files: fuzz_test TARGET FILE...
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <sstream>
#include <vector>

#include <glob.h>

#include "replay.h"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    return {std::istreambuf_iterator<char>(stream), {}};
}

void run(const Target& target, const fs::path& file) {
    const std::string text = read(file);
    // A copy of exactly its size: the address sanitizer then sees reads behind its end.
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    target.run(bytes.data(), bytes.size());
}

// One line per event, as tests/support/test_main.cpp writes them.
void record(const std::string& event, const std::string& name, std::string detail = {}) {
    for (char& c : detail) c = c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
    if (const char* path = std::getenv("SWITCHYARD_TEST_RECORD"))
        std::ofstream(path, std::ios::app)
            << event << '\t' << name << (detail.empty() ? "" : "\t") << detail << std::endl;
}

// True if the case passed.
bool check(const std::string& name, const Target& target, const std::vector<fs::path>& files) {
    record("start", name);
    std::string fault = files.empty() ? "has no seeds" : "";
    for (const auto& file : files) {
        try {
            run(target, file);
        } catch (const std::exception& error) {
            fault = file.string() + ": " + error.what();
        }
    }
    if (!fault.empty()) std::cerr << "FAILED: " << name << ": " << fault << "\n";
    record(fault.empty() ? "pass" : "fail", name, fault);
    return fault.empty();
}

std::vector<fs::path> matching(const std::string& pattern) {
    glob_t found{};
    std::vector<fs::path> files;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
        files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    return files;
}

// The last field of the target's line in targets.txt, and the folder seeds/NAME.
std::vector<fs::path> seeds_of(const std::string& name, const fs::path& source, const fs::path& build) {
    auto files = matching((source / "tests/fuzz/seeds" / name / "*").string());
    std::ifstream list(build / "fuzz/targets.txt");
    for (std::string line; std::getline(list, line);) {
        if (!line.starts_with(name + "|")) continue;
        std::istringstream patterns(line.substr(line.rfind('|') + 1));
        for (std::string pattern; patterns >> pattern;) {
            const auto found = matching((source / pattern).string());
            files.insert(files.end(), found.begin(), found.end());
        }
    }
    return files;
}

fs::path folder_from(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr)
        throw std::runtime_error(std::string(variable) + " is not set: run the test through ctest");
    return value;
}

int replay_all() {
    const auto source = folder_from("SWITCHYARD_TEST_SOURCE_DIR"),
               build = folder_from("SWITCHYARD_TEST_BUILD_DIR");
    bool good = true;
    for (const auto& target : targets) {
        const std::string name = target.name;
        good = check("fuzz: " + name + " holds for its seeds", target, seeds_of(name, source, build)) && good;
        for (const auto& file : matching((source / "tests/fuzz/regress" / name / "*").string()))
            good = check("fuzz: " + name + " holds for " + file.filename().string(), target, {file}) && good;
    }
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) return replay_all();
    const std::span<char*> arguments(argv + 1, argv + argc);
    const auto target = std::find_if(std::begin(targets), std::end(targets), [&](const Target& t) {
        return std::string_view(t.name) == arguments[0];
    });
    if (target == std::end(targets)) {
        std::cerr << "there is no target " << arguments[0] << "\n";
        return 2;
    }
    for (const char* file : arguments.subspan(1)) run(*target, file);
    return 0;
}
