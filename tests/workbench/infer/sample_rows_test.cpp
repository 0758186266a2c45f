// Tokens drawn for many rows at once, with a made-up model.
#include "core/workbench/infer/sample_rows.h"
#include "scripted_rows.h"

#include <switchyard_test.h>

using namespace switchyard;
using infer::End;
using infer::Ids;
using test::ScriptedRows;

namespace {

infer::GenerationRequest request_of(std::vector<infer::Beginning> prompts) {
    infer::GenerationRequest request;
    request.prompts = std::move(prompts);
    request.batch = 4;
    request.max_tokens = 12;
    request.max_length = 100;
    request.seed = 7;
    request.eos = 0;
    return request;
}

infer::GeneratedSamples sampled(const infer::GenerationRequest& request, const infer::Sampling& sampling = {},
                                const infer::GenerationHooks& hooks = {}) {
    ScriptedRows rows(test::random_model(9, 1));
    infer::GenerationSpeed speed;
    return infer::sample_rows(rows, infer::TokenChooser(sampling), request, hooks, speed);
}

const std::vector<infer::Beginning> prompts{{{}, {1, 2}}, {{}, {3}}, {{5, 6}, {1}}};

}  // namespace

TEST_CASE("a sample depends on its prompt, the seed and its number, whatever stands beside it") {
    auto request = request_of(prompts);
    request.samples = 5;
    const auto all = sampled(request);
    for (const std::int64_t batch : {1, 2, 3, 50}) {
        request.batch = batch;
        const auto again = sampled(request);
        for (std::size_t p = 0; p < prompts.size(); ++p) {
            for (std::size_t s = 0; s < 5; ++s) {
                CHECK(again[p][s].ids == all[p][s].ids);
                CHECK(again[p][s].end == all[p][s].end);
            }
        }
    }
    auto alone = request_of({prompts[1]});
    alone.samples = 5;
    const auto of_one = sampled(alone);
    for (std::size_t s = 0; s < 5; ++s) CHECK(of_one[0][s].ids == all[1][s].ids);
    alone.seed = 8;
    const auto other = sampled(alone);
    CHECK((other[0][0].ids != of_one[0][0].ids || other[0][1].ids != of_one[0][1].ids));
}

TEST_CASE("greedy rows are the likeliest tokens one after another") {
    auto request = request_of(prompts);
    const auto all = sampled(request, {.temperature = 0.0});
    const auto model = test::random_model(9, 1);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
        auto row = prompts[p];
        Ids expected;
        while (expected.size() < 12) {
            const auto logits = model(row);
            const auto token = std::max_element(logits.begin(), logits.end()) - logits.begin();
            if (token == 0) break;
            expected.push_back(token);
            row.grown.push_back(token);
        }
        CHECK(all[p][0].ids == expected);
        CHECK(all[p][0].end == (expected.size() == 12 ? End::limit : End::eos));
    }
}

TEST_CASE("a prompt with several samples is read once for a batch, and rows that have ended leave") {
    auto request = request_of({prompts[0]});
    request.samples = 4;
    ScriptedRows rows(test::random_model(9, 1));
    infer::GenerationSpeed speed;
    const auto all = infer::sample_rows(rows, infer::TokenChooser({}), request, {}, speed);
    CHECK(rows.begun == 1);
    CHECK(rows.widest <= 4);
    std::size_t longest = 0;
    for (const auto& one : all[0])
        longest = std::max(longest, one.ids.size() + (one.end == End::eos ? 1 : 0));
    CHECK(rows.appended + 1 == longest);
    CHECK(speed.prefill_tokens == 2);
    CHECK(speed.batches == 1);
}

TEST_CASE("positions, stop tokens, texts and whoever asked end a row") {
    auto request = request_of({prompts[0]});
    request.eos = -1;
    request.max_tokens = 0;
    request.max_length = 6;
    const auto whole = sampled(request, {.temperature = 0.0})[0][0];
    CHECK(whole.ids.size() == 5);  // the last one is not given to the model
    CHECK(whole.end == End::limit);

    request.stop_tokens = {whole.ids[2]};
    const auto stopped = sampled(request, {.temperature = 0.0})[0][0];
    CHECK(stopped.end == End::stop);
    CHECK(stopped.ids.size() <= 2);

    request.stop_tokens = {};
    infer::GenerationHooks hooks;
    hooks.ended = [](std::size_t, std::size_t, const Ids& ids) { return ids.size() == 3; };
    const auto text = sampled(request, {.temperature = 0.0}, hooks)[0][0];
    CHECK(text.end == End::stop);
    CHECK(text.ids == Ids(whole.ids.begin(), whole.ids.begin() + 3));

    int asked = 0;
    hooks = {};
    hooks.interrupted = [&] { return ++asked > 3; };
    const auto cut = sampled(request, {.temperature = 0.0}, hooks)[0][0];
    CHECK(cut.end == End::interrupted);
    CHECK(cut.ids == Ids(whole.ids.begin(), whole.ids.begin() + 3));
}
