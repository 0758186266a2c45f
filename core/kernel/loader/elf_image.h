// Reads what a shared library says about itself, from the file, without loading it: 64-bit little-endian ELF.
//
// Every offset and size that comes from the file is checked against the file's size in 64-bit arithmetic
// before anything is read with pread, and every count is bounded, so that a truncated, damaged or hostile
// file ends in an error text and nothing else. Source: System V ABI, "Object Files" (gabi 4.3); build id: GNU
// binutils, ld --build-id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::loader {

struct ElfImage {
    std::uint16_t machine = 0;           // e_machine
    bool shared = false;                 // ET_DYN
    std::string build_id;                // hexadecimal, empty if there is none
    std::optional<std::string> section;  // content of the section asked for, if there is one
};

enum class ElfError : std::uint8_t {
    none,
    unreadable,  // open or read failed
    not_elf,
    other_class,  // 32 bits, or big endian
    malformed,    // truncated or inconsistent
};

struct ElfResult {
    ElfImage image;
    ElfError error = ElfError::none;
    std::string
        message;  // if there is an error: what, in words that follow the file's name ("is truncated: ...")
};

// `section`: the name of one to read, of at most 1 MiB; empty: none.
ElfResult read_elf(const std::string& path, std::string_view section = {});

// The symbols that the dynamic loader looks for in other libraries when it loads this one: those that its
// relocations name and that it does not define, as they are written in the file, each once, sorted.
struct ElfImports {
    std::vector<std::string> symbols;
    std::string error;  // as ElfResult::message; then no symbols
};
ElfImports imported_symbols(const std::string& path);

inline constexpr std::uint16_t elf_machine_x86_64 = 62;

// "x86-64", "AArch64", ..., "machine 243".
std::string machine_name(std::uint16_t machine);

}  // namespace switchyard::loader
