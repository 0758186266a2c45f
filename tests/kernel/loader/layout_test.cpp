// The list of virtual functions in layout_digest.h against the vtables that the compiler makes: in the
// Itanium C++ ABI a pointer to a virtual member function holds 1 + its offset in the vtable. To add an
// interface: a line in layout_digest.h and one here for each function.
#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>
#include <string>

#include <switchyard/interfaces/layout_digest.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

template <class Function>
std::size_t slot_of(Function function) {
    std::ptrdiff_t words[2];
    static_assert(sizeof(function) == sizeof(words));
    std::memcpy(words, &function, sizeof(words));
    return static_cast<std::size_t>(words[0] - 1) / sizeof(void*);
}

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
    CHECK(slot_of(&Component::query) == listed("Component", "query"));
    CHECK(slot_of(&Attention::forward) == listed("Attention", "forward"));
    CHECK(slot_of(&Attention::backward) == listed("Attention", "backward"));
    CHECK(slot_of(&Normalization::forward) == listed("Normalization", "forward"));
    CHECK(slot_of(&Normalization::backward) == listed("Normalization", "backward"));
    CHECK(slot_of(&Activation::forward) == listed("Activation", "forward"));
    CHECK(slot_of(&Activation::backward) == listed("Activation", "backward"));
    CHECK(slot_of(&Loss::forward) == listed("Loss", "forward"));
    CHECK(slot_of(&Loss::backward) == listed("Loss", "backward"));
    CHECK(slot_of(&Optimizer::bind) == listed("Optimizer", "bind"));
    CHECK(slot_of(&Optimizer::step) == listed("Optimizer", "step"));
    CHECK(slot_of(&Optimizer::state) == listed("Optimizer", "state"));
    CHECK(slot_of(&Optimizer::load) == listed("Optimizer", "load"));
    CHECK(slot_of(&Precision::storage) == listed("Precision", "storage"));
    CHECK(slot_of(&Precision::compute) == listed("Precision", "compute"));
    CHECK(slot_of(&Precision::tf32) == listed("Precision", "tf32"));
    CHECK(slot_of(&Precision::quantize) == listed("Precision", "quantize"));
    CHECK(slot_of(&Precision::quantize_gradient) == listed("Precision", "quantize_gradient"));
    CHECK(slot_of(&Precision::begin_step) == listed("Precision", "begin_step"));
    CHECK(slot_of(&Precision::end_step) == listed("Precision", "end_step"));
    CHECK(slot_of(&Precision::set_recompute) == listed("Precision", "set_recompute"));
    CHECK(slot_of(&Precision::loss_scale) == listed("Precision", "loss_scale"));
    CHECK(slot_of(&Precision::update) == listed("Precision", "update"));
    CHECK(slot_of(&Precision::state) == listed("Precision", "state"));
    CHECK(slot_of(&Precision::load) == listed("Precision", "load"));
    CHECK(slot_of(&DataLoader::start) == listed("DataLoader", "start"));
    CHECK(slot_of(&DataLoader::batches) == listed("DataLoader", "batches"));
    CHECK(slot_of(&DataLoader::next) == listed("DataLoader", "next"));
    CHECK(slot_of(&DataLoader::position) == listed("DataLoader", "position"));
    CHECK(slot_of(&DataLoader::seek) == listed("DataLoader", "seek"));
    CHECK(slot_of(&DataLoader::ready) == listed("DataLoader", "ready"));
    CHECK(slot_of(&Linear::forward) == listed("Linear", "forward"));
    CHECK(slot_of(&Linear::input_gradient) == listed("Linear", "input_gradient"));
    CHECK(slot_of(&Linear::weight_gradient) == listed("Linear", "weight_gradient"));
    CHECK(slot_of(&Linear::prepare) == listed("Linear", "prepare"));
    CHECK(slot_of(&Linear::prepare_quantized) == listed("Linear", "prepare_quantized"));
    CHECK(slot_of(&SampleSource::size) == listed("SampleSource", "size"));
    CHECK(slot_of(&SampleSource::length) == listed("SampleSource", "length"));
    CHECK(slot_of(&SampleSource::target_length) == listed("SampleSource", "target_length"));
    CHECK(slot_of(&SampleSource::get) == listed("SampleSource", "get"));
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
    const auto digest = [](std::initializer_list<std::size_t> offsets) {
        return LayoutDigest{}.type<Two>("Two", offsets).value();
    };
    CHECK(digest({0, 4}) == digest({0, 4}));
    CHECK(digest({0, 4}) != digest({4, 0}));
    CHECK(digest({0, 4}) != digest({0}));
    CHECK(LayoutDigest{}.text("ab").text("c").value() != LayoutDigest{}.text("a").text("bc").value());
    static_assert(layout_digest() != 0);
    std::set<std::uint64_t> all{layout_digest()};
    for (const Kind kind : all_kinds) all.insert(layout_digest(kind));
    CHECK(all.size() == all_kinds.size() + 1);
}
