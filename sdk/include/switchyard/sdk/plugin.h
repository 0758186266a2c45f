// What the source generated from a plugin.toml is made of: the entry of a component in the C structure, from
// a class, and the bytes of the section `switchyard_manifest`. A plugin's author does not include this file;
// see examples/plugin.
//
// A component is a class like
//
//     class MyAttention final : public switchyard::Attention {
//     public:
//         explicit MyAttention(const CreateInfo& info);
//         static Verdict supports(const AttentionRequest& request, const HostInfo& host,
//                                 const Options& options);
//         AttentionOutputs forward(const AttentionInputs&, const AttentionParams&, Saved*) override;
//     };
//
// `supports` may take a fourth argument, std::string_view variant: the variant that was asked for, or empty.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <switchyard/interfaces/fingerprint.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/plugin_abi.h>

namespace switchyard::sdk {

template <Kind kind, class Class>
void call_supports(const SwitchyardSupports* arguments) {
    const auto& request = KindTraits<kind>::request(*static_cast<const Request*>(arguments->request));
    const auto& host = *static_cast<const HostInfo*>(arguments->host);
    const auto& options = *static_cast<const Options*>(arguments->options);
    auto& verdict = *static_cast<Verdict*>(arguments->verdict);
    if constexpr (requires { Class::supports(request, host, options, std::string_view{}); }) {
        verdict = Class::supports(request, host, options, std::string_view(arguments->variant));
    } else {
        verdict = Class::supports(request, host, options);
    }
}

template <Kind kind, class Class>
constexpr SwitchyardComponent component(const char* id) {
    using Interface = typename KindTraits<kind>::Interface;
    using Request = typename KindTraits<kind>::Request;
    static_assert(std::derived_from<Class, Interface>,
                  "the class must derive publicly from the interface of its kind");
    static_assert(!std::is_abstract_v<Class>, "the class leaves a function of its interface without a body");
    static_assert(std::constructible_from<Class, const CreateInfo&>,
                  "the class needs a public constructor from const CreateInfo&");
    static_assert(
        requires(const Request& r, const HostInfo& h, const Options& o) {
            { Class::supports(r, h, o) } -> std::same_as<Verdict>;
        } ||
            requires(const Request& r, const HostInfo& h, const Options& o, std::string_view variant) {
                { Class::supports(r, h, o, variant) } -> std::same_as<Verdict>;
            },
        "the class needs: static Verdict supports(const <Kind>Request&, const HostInfo&, const Options&)");

    SwitchyardComponent entry{};
    entry.struct_size = sizeof(SwitchyardComponent);
    entry.kind = name(kind).data();
    entry.id = id;
    entry.supports = &call_supports<kind, Class>;
    entry.create = [](const void* info) -> void* {
        return static_cast<Interface*>(new Class(*static_cast<const CreateInfo*>(info)));
    };
    entry.destroy = [](void* made) { delete static_cast<Interface*>(made); };
    return entry;
}

// "SWYDMAN1", u32 1, u32 size, fingerprint, empty line, JSON (core/kernel/loader/manifest.h).
template <std::size_t Size>
constexpr std::array<char, Size> manifest_bytes(std::string_view fingerprint, std::string_view json) {
    FixedText<Size> text;
    text.add("SWYDMAN1");
    for (const std::size_t number : {std::size_t{1}, Size - 16}) {
        for (int byte = 0; byte < 4; ++byte)
            text.bytes[text.size++] = static_cast<char>((number >> (8 * byte)) & 0xFFU);
    }
    text.add(fingerprint).add("\n").add(json);
    return text.bytes;
}

constexpr std::size_t manifest_size(std::string_view fingerprint, std::string_view json) {
    return 16 + fingerprint.size() + 1 + json.size();
}

}  // namespace switchyard::sdk

// Marks the one symbol that a plugin exports.
#define SWITCHYARD_EXPORT extern "C" __attribute__((visibility("default")))
