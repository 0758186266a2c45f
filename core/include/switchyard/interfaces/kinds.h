// The kinds of components, one line each, and what belongs to each kind.
//
// Code that does something of its own for each kind calls visit(kind, f). f gets the KindTraits of the kind
// and calls a function that is overloaded for them, or for the kind's request or interface. The compiler
// names each place where a kind has no such overload. To add a kind, append its line to the table, write its
// request in request.h and its interface in a header of its own (attention.h, ...), and follow the compiler.
//
// For a plugin's author: a component of a kind derives from KindTraits<kind>::Interface, and what its
// `supports` and CreateInfo::request get is a KindTraits<kind>::Request. The code that is generated from
// plugin.toml holds a class to both.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/types.h>

namespace switchyard {

struct KindFacts {
    bool per_layer;  // layers of one model may have different components of it
    bool gradient;   // it is differentiated
    bool measured;   // it can be timed on its own: `bench` and `tune` have inputs for it
};

// The name is that of the enumerator and of the section in TOML; the interface X has the request XRequest.
// Lines are only ever appended: the enumerators' values cross the plugin boundary.
// clang-format off
#define SWITCHYARD_KINDS(each)                                     \
    /*   name           interface      per_layer gradient measured */ \
    each(attention,     Attention,     true,     true,    true)    \
    each(normalization, Normalization, true,     true,    true)    \
    each(activation,    Activation,    true,     true,    true)    \
    each(loss,          Loss,          false,    true,    true)    \
    each(optimizer,     Optimizer,     false,    false,   true)    \
    each(precision,     Precision,     false,    false,   false)   \
    each(data_loader,   DataLoader,    false,    false,   false)   \
    each(linear,        Linear,        true,     true,    true)
// clang-format on

// What a component does. One slot of the configuration for each kind.
#define SWITCHYARD_ENUMERATOR(name, ...) name,
enum class Kind : std::uint8_t { SWITCHYARD_KINDS(SWITCHYARD_ENUMERATOR) };
#undef SWITCHYARD_ENUMERATOR

#define SWITCHYARD_ENUMERATOR(name, ...) Kind::name,
inline constexpr std::array all_kinds{SWITCHYARD_KINDS(SWITCHYARD_ENUMERATOR)};
#undef SWITCHYARD_ENUMERATOR

#define SWITCHYARD_NAME(name, ...) #name,
template <>
inline constexpr std::array<std::string_view, all_kinds.size()> names<Kind>{
    SWITCHYARD_KINDS(SWITCHYARD_NAME)};
#undef SWITCHYARD_NAME

template <Kind>
struct KindTraits;

// Of an interface or a request: kind_of<Attention> == kind_of<AttentionRequest> == Kind::attention.
template <class T>
inline constexpr Kind kind_of = T::belongs_to_no_kind;

#define SWITCHYARD_TRAITS(name_, Class, ...)                                                 \
    class Class;                                                                             \
    template <>                                                                              \
    struct KindTraits<Kind::name_> {                                                         \
        using Interface = Class;                                                             \
        using Request = Class##Request;                                                      \
        static constexpr Kind kind = Kind::name_;                                            \
        static constexpr KindFacts facts{__VA_ARGS__};                                       \
        static constexpr std::string_view request_name = #Class "Request";                   \
        /* The request of a component of this kind, as what it is. */                        \
        static const Request& request(const switchyard::Request& r) {                        \
            return static_cast<const Request&>(r);                                           \
        }                                                                                    \
        static Request& request(switchyard::Request& r) { return static_cast<Request&>(r); } \
    };                                                                                       \
    template <>                                                                              \
    inline constexpr Kind kind_of<Class> = Kind::name_;                                      \
    template <>                                                                              \
    inline constexpr Kind kind_of<Class##Request> = Kind::name_;
SWITCHYARD_KINDS(SWITCHYARD_TRAITS)
#undef SWITCHYARD_TRAITS

// Returns f(KindTraits<kind>{}).
template <class F>
constexpr decltype(auto) visit(Kind kind, F&& f) {
    switch (kind) {
#define SWITCHYARD_CASE(name, ...) \
    case Kind::name:               \
        return f(KindTraits<Kind::name>{});
        SWITCHYARD_KINDS(SWITCHYARD_CASE)
#undef SWITCHYARD_CASE
    }
    throw std::invalid_argument("there is no kind of component with this number");
}

constexpr KindFacts facts_of(Kind kind) {
    return visit(kind, [](auto traits) { return traits.facts; });
}

}  // namespace switchyard
