// Sets of enumerators in text.
#include <sstream>

#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/verdict.h>
#include "core/kernel/resolver/request_fields.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string streamed(MaskSet masks) {
    std::ostringstream text;
    text << masks;
    return text.str();
}

}  // namespace

TEST_CASE("a set of masks is told by its members' names, in the order of the enumeration") {
    const MaskSet two{MaskKind::key_lengths, MaskKind::causal};
    CHECK(to_text(two) == "causal, key_lengths");
    CHECK(to_text(two, "+") == "causal+key_lengths");
    CHECK(streamed(two) == "causal, key_lengths");
    CHECK(names_of(two) == std::vector<std::string>{"causal", "key_lengths"});
    CHECK(to_text(MaskSet{}) == "none");
    CHECK(names_of(MaskSet{}).empty());
    CHECK(resolver::to_text(two) == "causal+key_lengths");

    MaskSet all;
    for (std::size_t i = 0; i < names<MaskKind>.size(); ++i) all.insert(static_cast<MaskKind>(i));
    CHECK(to_text(all) ==
          "causal, key_lengths, documents, sliding_window, prefix, alibi, relative_bias, soft_cap, "
          "dense_bias");
}

TEST_CASE("a member that this build has no name for is told by its number") {
    MaskSet later{MaskKind::causal};
    later.bits |= 1U << 9 | 1U << 31;
    CHECK(to_text(later) == "causal, #9, #31");
}

TEST_CASE("a refusal shows the masks that were asked for, not their bits") {
    Verdict verdict;
    const MaskSet masks{MaskKind::causal, MaskKind::sliding_window, MaskKind::alibi, MaskKind::relative_bias};
    verdict.reject(Code::Mask, "masks", to_text(MaskSet{MaskKind::causal}), masks);
    CHECK(verdict.reasons.at(0).expected == "causal");
    CHECK(verdict.reasons.at(0).got == "causal, sliding_window, alibi, relative_bias");
}
