// The list of virtual functions in layout_digest.h against the vtables that the compiler makes. To add an
// interface: a line in layout_digest.h and one here for each function.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include <switchyard/interfaces/layout_digest.h>

#include "vtable_slot.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::vtable_slot;

namespace {

// Position in the list of its interface, where "~" takes two.
std::size_t listed(const std::string& interface, const std::string& function) {
    for (const InterfaceLayout& layout : interface_layouts) {
        if (layout.name != interface) continue;
        std::istringstream words{std::string(layout.functions)};
        std::size_t slot = 0;
        for (std::string word; words >> word; slot += word == "~" ? 2 : 1) {
            if (word == function) return slot;
        }
    }
    return SIZE_MAX;
}

std::size_t functions_of(const std::string& interface) {
    for (const InterfaceLayout& layout : interface_layouts) {
        if (layout.name == interface)
            return static_cast<std::size_t>(
                std::count(layout.functions.begin(), layout.functions.end(), ' '));
    }
    return 0;
}

}  // namespace

TEST_CASE("the listed order of virtual functions is that of the vtables") {
    CHECK(vtable_slot(&Component::query) == listed("Component", "query"));
    CHECK(vtable_slot(&Attention::forward) == listed("Attention", "forward"));
    CHECK(vtable_slot(&Attention::backward) == listed("Attention", "backward"));
    CHECK(vtable_slot(&Normalization::forward) == listed("Normalization", "forward"));
    CHECK(vtable_slot(&Normalization::backward) == listed("Normalization", "backward"));
    CHECK(vtable_slot(&Activation::forward) == listed("Activation", "forward"));
    CHECK(vtable_slot(&Activation::backward) == listed("Activation", "backward"));
    CHECK(vtable_slot(&Loss::forward) == listed("Loss", "forward"));
    CHECK(vtable_slot(&Loss::backward) == listed("Loss", "backward"));
    CHECK(vtable_slot(&Optimizer::bind) == listed("Optimizer", "bind"));
    CHECK(vtable_slot(&Optimizer::step) == listed("Optimizer", "step"));
    CHECK(vtable_slot(&Optimizer::state) == listed("Optimizer", "state"));
    CHECK(vtable_slot(&Optimizer::load) == listed("Optimizer", "load"));
    CHECK(vtable_slot(&Precision::storage) == listed("Precision", "storage"));
    CHECK(vtable_slot(&Precision::compute) == listed("Precision", "compute"));
    CHECK(vtable_slot(&Precision::tf32) == listed("Precision", "tf32"));
    CHECK(vtable_slot(&Precision::quantize) == listed("Precision", "quantize"));
    CHECK(vtable_slot(&Precision::quantize_gradient) == listed("Precision", "quantize_gradient"));
    CHECK(vtable_slot(&Precision::begin_step) == listed("Precision", "begin_step"));
    CHECK(vtable_slot(&Precision::end_step) == listed("Precision", "end_step"));
    CHECK(vtable_slot(&Precision::set_recompute) == listed("Precision", "set_recompute"));
    CHECK(vtable_slot(&Precision::loss_scale) == listed("Precision", "loss_scale"));
    CHECK(vtable_slot(&Precision::update) == listed("Precision", "update"));
    CHECK(vtable_slot(&Precision::state) == listed("Precision", "state"));
    CHECK(vtable_slot(&Precision::load) == listed("Precision", "load"));
    CHECK(vtable_slot(&DataLoader::start) == listed("DataLoader", "start"));
    CHECK(vtable_slot(&DataLoader::batches) == listed("DataLoader", "batches"));
    CHECK(vtable_slot(&DataLoader::next) == listed("DataLoader", "next"));
    CHECK(vtable_slot(&DataLoader::position) == listed("DataLoader", "position"));
    CHECK(vtable_slot(&DataLoader::seek) == listed("DataLoader", "seek"));
    CHECK(vtable_slot(&DataLoader::ready) == listed("DataLoader", "ready"));
    CHECK(vtable_slot(&Linear::forward) == listed("Linear", "forward"));
    CHECK(vtable_slot(&Linear::input_gradient) == listed("Linear", "input_gradient"));
    CHECK(vtable_slot(&Linear::weight_gradient) == listed("Linear", "weight_gradient"));
    CHECK(vtable_slot(&Linear::prepare) == listed("Linear", "prepare"));
    CHECK(vtable_slot(&Linear::prepare_quantized) == listed("Linear", "prepare_quantized"));
    CHECK(vtable_slot(&SampleSource::size) == listed("SampleSource", "size"));
    CHECK(vtable_slot(&SampleSource::length) == listed("SampleSource", "length"));
    CHECK(vtable_slot(&SampleSource::target_length) == listed("SampleSource", "target_length"));
    CHECK(vtable_slot(&SampleSource::get) == listed("SampleSource", "get"));
}

TEST_CASE("no listed function is missing from the check above") {
    // Of the functions that each list names after "~".
    CHECK(functions_of("Component") == 1);
    CHECK(functions_of("Attention") == 3);
    CHECK(functions_of("Optimizer") == 5);
    CHECK(functions_of("Precision") == 13);
    CHECK(functions_of("DataLoader") == 7);
    CHECK(functions_of("Linear") == 6);
    CHECK(functions_of("SampleSource") == 4);
}

// From where each field of a request lies: none is listed twice or out of order, and none that is larger than
// what alignment leaves free is missing.
TEST_CASE("the fields that a request lists fill it in their order") {
    for (const Kind kind : all_kinds) {
        CAPTURE(name(kind));
        visit(kind, [&]<class Traits>(Traits) {
            typename Traits::Request request;
            const char* end = reinterpret_cast<const char*>(&request);
            const char* const whole = end + sizeof request;
            std::size_t largest = 1;
            const auto follow = [&]<class Member>(std::string_view field, const Member& member) {
                CAPTURE(field);
                const char* const start = reinterpret_cast<const char*>(&member);
                CHECK(start >= end);
                CHECK(start < end + alignof(Member));
                end = start + sizeof member;
                largest = std::max(largest, alignof(Member));
            };
            Request::each_common_field(request, follow);
            request.each_field(request, follow);
            CHECK(end <= whole);
            CHECK(end + largest > whole);
        });
    }
}

TEST_CASE("the digest tells apart sizes, offsets and orders") {
    struct Two {
        int a, b;
    };
    const auto digest = [](std::size_t a, std::size_t b) {
        return LayoutDigest{}.type("Two", extent_of<Two>, {{"a", a}, {"b", b}}).value();
    };
    CHECK(digest(0, 4) == digest(0, 4));
    CHECK(digest(0, 4) != digest(4, 0));
    CHECK(digest(0, 4) != LayoutDigest{}.type("Two", extent_of<Two>, {{"a", 0}}).value());
    CHECK(LayoutDigest{}.text("ab").text("c").value() != LayoutDigest{}.text("a").text("bc").value());
    static_assert(layout_digest() != 0);
    std::set<std::uint64_t> all{layout_digest()};
    for (const Kind kind : all_kinds) all.insert(layout_digest(kind));
    CHECK(all.size() == all_kinds.size() + 1);
}
