// A model of a fixture, run through a plugin's components in one layout, and its comparison with what the
// fixture holds.
//
// Legend:  B batch  N length  T real tokens of a batch in a row  C hidden_size
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/config/config.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/maker.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"

#include "fixture.h"

namespace switchyard::test {

// Every slot from `backend`; without dropout unless `overrides`, which name the model and the task, say so.
config::Config configured(const std::string& backend, Layout layout, std::vector<std::string> overrides);

// Overrides of the tiny BERT in tests/fixtures/transformers_tiny.
std::vector<std::string> tiny_bert();
std::string tiny_folder();

// The small language models that make_transformers.py makes: gpt2, llama, t5, t5_gated.
const std::vector<std::string>& language_models();
std::vector<std::string> language_model(const std::string& name);
std::string language_folder(const std::string& name);

struct Model {
    explicit Model(config::Config made);

    config::Config config;
    model::BoundPlan plan;
    model::Parameters parameters;
    std::unique_ptr<model::Model> model;
};

struct Outputs {
    std::vector<at::Tensor> hidden_TC;  // after the embeddings and after each layer
    at::Tensor pooled;                  // where the model has a pooler
    at::Tensor logits;                  // a row for each sequence, or each real token
    at::Tensor loss;
    std::map<std::string, at::Tensor> gradients;  // by transformers' name, what got one
};

// The batch of `fixture` ("ids", "segments", "lengths", "labels", "target_ids", "target_lengths") in that
// layout.
Batch batch_of(const FixtureCase& fixture, Layout layout);

// One step's forward and backward over it.
Outputs run(Model& model, const FixtureCase& fixture);

// Its logits alone: a row for each sequence, or each real token.
at::Tensor logits_of(const Model& model, const FixtureCase& fixture);

// Rows of the real tokens of a [B, N, ...] tensor: of the source, or of the side that has the labels.
at::Tensor real_tokens(const at::Tensor& x, const FixtureCase& fixture);
at::Tensor real_outputs(const at::Tensor& x, const FixtureCase& fixture);

// "" if both have one shape and |got - expected| <= 1e-4 * max(1, |expected|) everywhere, else the largest
// difference and where.
std::string difference(const at::Tensor& got, const at::Tensor& expected);

// As difference(), and the whole differs by no more than 1e-4 of its norm: gradients are often small
// throughout.
std::string gradient_difference(const at::Tensor& got, const at::Tensor& expected);

// Checks that just the parameters of the fixture's "grad.PARAMETER" have a gradient, and each by check(found,
// expected, parameter).
using GradientCheck = std::function<void(const at::Tensor&, const at::Tensor&, const std::string&)>;
void check_gradients(const Outputs& got, const FixtureCase& fixture, const GradientCheck& check);

}  // namespace switchyard::test
