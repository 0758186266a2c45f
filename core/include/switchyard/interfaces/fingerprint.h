// What must be equal between a plugin and the program that loads it, as text that the compiler puts together:
// lines of key=value.
//
//     libtorch=2.11.0                version whose headers it was compiled with
//     libtorch_cpu_build_id=...      ELF build id of the libtorch_cpu.so that it was linked with (or "xxh3:"
//     libc10_build_id=...            and a digest of the file, where it has no build id); passed in by
//                                    switchyard-manifest. The program's own are read when it runs.
//     cxx11_abi=1                    _GLIBCXX_USE_CXX11_ABI
//     glibcxx_debug=0                _GLIBCXX_DEBUG: containers of other sizes
//     sanitizers=none                address or thread: objects are laid out or accessed otherwise
//     abi_major=1                    SWITCHYARD_ABI_MAJOR
//     layout=0123456789abcdef        layout_digest.h: of what all kinds share
//     layout_attention=...           and of each kind; those of a plugin's own kinds are compared
//     compiler=gcc 12.2.0            told, not compared
//
// A key is never taken away or given another meaning within an abi_major. The versions of GLIBC and libstdc++
// that a file needs are not in here: the dynamic loader knows them from the file itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <torch/headeronly/version.h>

#include <switchyard/interfaces/layout_digest.h>
#include <switchyard/interfaces/plugin_abi.h>

namespace switchyard {

// Text of at most Capacity characters that can be put together by the compiler.
template <std::size_t Capacity>
struct FixedText {
    std::array<char, Capacity> bytes{};
    std::size_t size = 0;

    constexpr FixedText& add(std::string_view text) {
        for (const char c : text) bytes[size++] = c;
        return *this;
    }
    constexpr FixedText& add_number(std::uint64_t value) {
        std::uint64_t place = 1;
        while (value / place >= 10) place *= 10;
        for (; place > 0; place /= 10) bytes[size++] = static_cast<char>('0' + value / place % 10);
        return *this;
    }
    constexpr FixedText& add_hex(std::uint64_t value) {
        for (int shift = 60; shift >= 0; shift -= 4)
            bytes[size++] = "0123456789abcdef"[(value >> shift) & 15U];
        return *this;
    }
    constexpr std::string_view view() const { return {bytes.data(), size}; }
};

constexpr std::string_view sanitizers() {
#if defined(__SANITIZE_ADDRESS__)
    return "address";
#elif defined(__SANITIZE_THREAD__)
    return "thread";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return "address";
#elif __has_feature(thread_sanitizer)
    return "thread";
#else
    return "none";
#endif
#else
    return "none";
#endif
}

constexpr bool glibcxx_debug() {
#ifdef _GLIBCXX_DEBUG
    return true;
#else
    return false;
#endif
}

constexpr void add_compiler(FixedText<2048>& text) {
#if defined(__clang__)
    text.add("clang ")
        .add_number(__clang_major__)
        .add(".")
        .add_number(__clang_minor__)
        .add(".")
        .add_number(__clang_patchlevel__);
#else
    text.add("gcc ")
        .add_number(__GNUC__)
        .add(".")
        .add_number(__GNUC_MINOR__)
        .add(".")
        .add_number(__GNUC_PATCHLEVEL__);
#endif
}

// `libraries`: the lines about the libraries' build ids, each with its newline; empty in the program itself.
constexpr FixedText<2048> make_fingerprint(std::string_view libraries) {
    FixedText<2048> text;
    text.add("libtorch=")
        .add_number(TORCH_VERSION_MAJOR)
        .add(".")
        .add_number(TORCH_VERSION_MINOR)
        .add(".")
        .add_number(TORCH_VERSION_PATCH);
    text.add("\n").add(libraries);
    text.add("cxx11_abi=").add_number(_GLIBCXX_USE_CXX11_ABI);
    text.add("\nglibcxx_debug=").add(glibcxx_debug() ? "1" : "0");
    text.add("\nsanitizers=").add(sanitizers());
    text.add("\nabi_major=").add_number(SWITCHYARD_ABI_MAJOR);
    text.add("\nlayout=").add_hex(layout_digest());
    for (const Kind kind : all_kinds)
        text.add("\nlayout_").add(name(kind)).add("=").add_hex(layout_digest(kind));
    text.add("\ncompiler=");
    add_compiler(text);
    return text.add("\n");
}

}  // namespace switchyard
