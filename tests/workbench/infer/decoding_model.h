// Small language models of every way to tell positions and to mask, with weights that make their logits
// differ, and what a model says of rows of tokens without a cache. To add a family: its configuration in
// decoding_model.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/infer/growing_rows.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/maker.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::test {

struct DecodingFamily {
    std::string name;
    std::vector<std::string> model;  // overrides
    bool soft_cap = false;           // which not every component serves
    bool reads_source() const { return name.starts_with("t5"); }
};
const std::vector<DecodingFamily>& decoding_families();

// A model of a family, its attention by `attention`, all else by naive. Models of one family have the same
// weights whatever the overrides, rounded to what they store.
struct DecodingModel {
    DecodingModel(const DecodingFamily& family, const std::string& attention,
                  std::vector<std::string> overrides = {});

    config::Config config;
    resolver::Plan resolved;
    std::unique_ptr<model::BoundPlan> plan;
    model::Parameters parameters;
    std::unique_ptr<model::Model> model;
};

// The logits after the last `count` tokens of each row, float64 [R, count, V]: each row by itself, in the
// phase eval.
at::Tensor uncached_logits(const DecodingModel& model, const std::vector<infer::Beginning>& rows,
                           std::int64_t count);

// Tokens of a vocabulary of `size`, always the same for one seed.
infer::Ids drawn_tokens(std::int64_t count, std::int64_t size, std::uint64_t seed);

}  // namespace switchyard::test
