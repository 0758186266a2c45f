// Rows that run whole are what the model says of each text alone, whatever was appended, selected and taken
// back before; in the first place what transformers says.
#include "loaded_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/stack.h>

using namespace switchyard;
using infer::Beginning;
using infer::Ids;

namespace {

bool is_t5(const std::string& name) { return name.starts_with("t5"); }

Beginning row_of(const std::string& name, const Ids& ids) {
    return is_t5(name) ? Beginning{{5, 9, 11, 1}, ids} : Beginning{{}, ids};
}

void require_close(const at::Tensor& got, const at::Tensor& expected) {
    REQUIRE(got.sizes() == expected.sizes());
    REQUIRE(got.scalar_type() == at::kFloat);
    CHECK(at::allclose(got, expected, 1e-4, 1e-5));
}

}  // namespace

TEST_CASE("the logits after each prompt are those of transformers") {
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& name : test::language_models()) {
        INFO(name);
        const auto fixture = test::load_fixture("transformers_" + name).at(0);
        const auto made = test::loaded_language_model(name, test::language_folder(name), layout);
        infer::WholeRows rows(made->config, made->plan, *made->model, 0);
        const bool target = fixture["target_ids"].defined();
        const auto lengths = test::numbers_of(fixture["lengths"]);
        const auto grown = target ? test::numbers_of(fixture["target_lengths"]) : lengths;
        std::vector<Beginning> prompts;
        std::vector<at::Tensor> expected;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const auto source = test::numbers_of(fixture["ids"][at].narrow(0, 0, lengths[i]));
            prompts.push_back(
                target ? Beginning{source, test::numbers_of(fixture["target_ids"][at].narrow(0, 0, grown[i]))}
                       : Beginning{{}, source});
            expected.push_back(fixture["logits"][at][grown[i] - 1]);
        }
        require_close(rows.begin(prompts), at::stack(expected).to(at::kFloat));
    }
}

TEST_CASE("what was appended, selected and taken back leaves the rows that there are") {
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& name : test::language_models()) {
        INFO(name);
        const auto made = test::loaded_language_model(name, test::language_folder(name), layout);
        infer::WholeRows rows(made->config, made->plan, *made->model, 0);
        infer::WholeRows other(made->config, made->plan, *made->model, 0);
        const auto after = [&](const Ids& ids) { return other.begin({row_of(name, ids)})[0]; };
        rows.begin({row_of(name, {3, 4, 5}), row_of(name, {6})});
        const auto two = rows.append({{7, 8}, {9, 10}});
        require_close(two[0][0], after({3, 4, 5, 7}));
        require_close(two[0][1], after({3, 4, 5, 7, 8}));
        require_close(two[1][0], after({6, 9}));
        require_close(two[1][1], after({6, 9, 10}));
        rows.select({1, 0, 1});
        rows.take_back({1, 3, 0});
        const auto three = rows.append({{20}, {21}, {22}});
        require_close(three[0][0], after({6, 9, 20}));
        require_close(three[1][0], after({3, 4, 21}));
        require_close(three[2][0], after({6, 9, 10, 22}));
    }
}

TEST_CASE("rows that cannot be are refused") {
    const auto made = test::loaded_language_model("gpt2", test::language_folder("gpt2"), Layout::padded);
    infer::WholeRows rows(made->config, made->plan, *made->model, 0);
    rows.begin({{{}, {1, 2}}, {{}, {3}}});
    CHECK_THROWS_WITH(rows.append({{1}}), "append: expected tokens for each of 2 rows");
    CHECK_THROWS_WITH(rows.append({{1}, {1, 2}}), "append: expected as many tokens for each row");
    CHECK_THROWS_WITH(rows.take_back({0, 1}), "take_back: 1 of 1 tokens of a row");
    CHECK_THROWS_WITH(rows.begin({{{}, Ids(25, 1)}}),
                      "a row of 25 tokens; expected at most batch.max_length, 24");
}
