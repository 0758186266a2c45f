// The cases of each kind: listed ones, and drawn ones. Names tell what is special about a case; its data
// follows from its name and the seed.
#pragma once

#include <vector>

#include <switchyard/conformance/draw.h>
#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/verify.h>

namespace switchyard::conformance {

std::vector<OperationCase> attention_cases(const Facts& facts, const VerifyOptions& options);
std::vector<OperationCase> normalization_cases(const Facts& facts, const VerifyOptions& options);
std::vector<OperationCase> activation_cases(const Facts& facts, const VerifyOptions& options);
std::vector<OperationCase> loss_cases(const Facts& facts, const VerifyOptions& options);

// One case by chance.
OperationCase drawn_attention(Draw& draw, const Facts& facts, const VerifyOptions& options);
OperationCase drawn_normalization(Draw& draw, const Facts& facts, const VerifyOptions& options);
OperationCase drawn_activation(Draw& draw, const Facts& facts, const VerifyOptions& options);
OperationCase drawn_loss(Draw& draw, const Facts& facts, const VerifyOptions& options);

// Kinds whose calls are no map from tensors to tensors find their faults themselves.
std::vector<FreeCase> optimizer_cases(const Facts& facts, const VerifyOptions& options);
std::vector<FreeCase> precision_cases(const Facts& facts, const VerifyOptions& options);
std::vector<FreeCase> data_loader_cases(const Facts& facts, const VerifyOptions& options);

FreeCase drawn_optimizer(Draw& draw, const Facts& facts, const VerifyOptions& options);
FreeCase drawn_precision(Draw& draw, const Facts& facts, const VerifyOptions& options);
FreeCase drawn_data_loader(Draw& draw, const Facts& facts, const VerifyOptions& options);

// "f32", "bf16", ...: how dtypes stand in names of cases.
const char* short_name(DType dtype);

// A float of the surroundings of inputs: NaN with poison, else 0.
double surroundings(const Variation& variation);

}  // namespace switchyard::conformance
