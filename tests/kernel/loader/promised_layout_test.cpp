// What 1.0 promised of the C++ contracts stands in promised_layout.txt: where each member lies, the order of
// the virtual functions, what the digests are, and what each enumerator's value is. What a change moves is
// told by name. Nothing in the text is ever changed; what comes later gets lines of its own, which the test
// prints.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/layout_digest.h>
#include <switchyard/interfaces/sharded_optimizer.h>

#include "fixture.h"
#include "promised_text.h"
#include "vtable_slot.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Has what LayoutDigest has, and writes it down.
class LayoutText {
public:
    explicit LayoutText(test::PromisedLayout& layout) : layout_(layout) {}

    LayoutText& type(std::string_view name, Extent extent, std::initializer_list<LayoutMember> members = {}) {
        const auto bytes =
            std::to_string(extent.size) + " bytes, aligned to " + std::to_string(extent.alignment);
        if (name.ends_with("Request")) {
            request_ = name;
            fields_ = 0;
        }
        // The fields of a request come as types of their own, in their order.
        const bool is_field = !request_.empty() && name.front() >= 'a' && name.front() <= 'z';
        if (is_field)
            layout_[request_ + "." + std::string(name)] = "field " + std::to_string(fields_++) + ", " + bytes;
        else
            layout_[std::string(name)] = bytes;
        return places(name, members);
    }
    LayoutText& places(std::string_view name, std::initializer_list<LayoutMember> members) {
        for (const LayoutMember& member : members)
            layout_[std::string(name) + "." + std::string(member.name)] =
                "at " + std::to_string(member.offset);
        return *this;
    }
    LayoutText& functions(const InterfaceLayout& interface) {
        layout_["functions of " + std::string(interface.name)] = interface.functions;
        return *this;
    }

private:
    test::PromisedLayout& layout_;
    std::string request_;
    int fields_ = 0;
};

std::string hex(std::uint64_t value) {
    std::ostringstream text;
    text << std::hex << value;
    return text.str();
}

// What is found through Component::query.
void add_queried(test::PromisedLayout& layout) {
    for (const auto id : {graph_capture_property, computes_in_property, thread_counts_property,
                          weight_form_property, slow_here_property, sharded_optimizer_interface})
        layout["query " + std::string(id)] = "known";
    using Part = ParameterPart;
    LayoutText(layout).type("ParameterPart", extent_of<Part>,
                            {{"index", offsetof(Part, index)},
                             {"begin", offsetof(Part, begin)},
                             {"whole", offsetof(Part, whole)}});
    using Sharded = ShardedOptimizer;
    const auto add = [&](const std::string& function, std::size_t slot) {
        layout["ShardedOptimizer::" + function] = "function " + std::to_string(slot);
    };
    add("part_alignment", test::vtable_slot(&Sharded::part_alignment));
    add("bind_parts", test::vtable_slot(&Sharded::bind_parts));
    add("step_parts", test::vtable_slot(&Sharded::step_parts));
}

template <class Enum>
void add_enumerators(test::PromisedLayout& layout, const std::string& type) {
    for (std::size_t i = 0; i < names<Enum>.size(); ++i)
        layout[type + "::" + std::string(names<Enum>[i])] = std::to_string(i);
}

test::PromisedLayout layout_here() {
    test::PromisedLayout layout;
    {
        LayoutText text(layout);
        digest_shared(text);
    }
    layout["digest of what all kinds share"] = hex(layout_digest());
    for (const Kind kind : all_kinds) {
        LayoutText text(layout);
        digest_kind(text, kind);
        layout["digest of " + std::string(name(kind))] = hex(layout_digest(kind));
    }
    add_queried(layout);
    add_enumerators<Kind>(layout, "Kind");
    add_enumerators<DType>(layout, "DType");
    add_enumerators<Device>(layout, "Device");
    add_enumerators<Phase>(layout, "Phase");
    add_enumerators<Layout>(layout, "Layout");
    add_enumerators<GradientMode>(layout, "GradientMode");
    add_enumerators<RandomSource>(layout, "RandomSource");
    add_enumerators<Composition>(layout, "Composition");
    add_enumerators<Accuracy>(layout, "Accuracy");
    add_enumerators<NormKind>(layout, "NormKind");
    add_enumerators<ActivationKind>(layout, "ActivationKind");
    add_enumerators<LossKind>(layout, "LossKind");
    add_enumerators<OptimizerKind>(layout, "OptimizerKind");
    add_enumerators<OpClass>(layout, "OpClass");
    add_enumerators<WeightFormat>(layout, "WeightFormat");
    add_enumerators<InputQuantization>(layout, "InputQuantization");
    add_enumerators<MaskKind>(layout, "MaskKind");
    add_enumerators<ValueType>(layout, "ValueType");
    for (std::uint16_t code = 0; name(Code{code}) != "unknown"; ++code)
        layout["Code::" + std::string(name(Code{code}))] = std::to_string(code);
    return layout;
}

}  // namespace

TEST_CASE("no part of a contract that plugins of 1.0 were built with has moved") {
    const auto file = test::source_dir() / "tests/kernel/loader/promised_layout.txt";
    CHECK(test::differences(test::promised_layout(test::read_file(file)), layout_here()) == "");
}
