// The cases of each kind: listed ones, and drawn ones. Names tell what is special about a case; its data
// follows from its name and the seed.
#pragma once

#include <vector>

#include <switchyard/conformance/draw.h>
#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/kinds.h>

namespace switchyard::conformance {

std::vector<OperationCase> listed_cases(KindTraits<Kind::attention>, const Facts& facts,
                                        const VerifyOptions& options);
std::vector<OperationCase> listed_cases(KindTraits<Kind::normalization>, const Facts& facts,
                                        const VerifyOptions& options);
std::vector<OperationCase> listed_cases(KindTraits<Kind::activation>, const Facts& facts,
                                        const VerifyOptions& options);
std::vector<OperationCase> listed_cases(KindTraits<Kind::loss>, const Facts& facts,
                                        const VerifyOptions& options);
std::vector<OperationCase> listed_cases(KindTraits<Kind::linear>, const Facts& facts,
                                        const VerifyOptions& options);

// One case by chance.
OperationCase drawn_case(KindTraits<Kind::attention>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options);
OperationCase drawn_case(KindTraits<Kind::normalization>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options);
OperationCase drawn_case(KindTraits<Kind::activation>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options);
OperationCase drawn_case(KindTraits<Kind::loss>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options);
OperationCase drawn_case(KindTraits<Kind::linear>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options);

// One case of a request, of sizes within its ranges. The component is made for all of them, as in a run.
OperationCase requested_case(const AttentionRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options);
OperationCase requested_case(const NormalizationRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options);
OperationCase requested_case(const ActivationRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options);
OperationCase requested_case(const LossRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options);
OperationCase requested_case(const LinearRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options);

// Kinds whose calls are no map from tensors to tensors find their faults themselves.
std::vector<FreeCase> listed_cases(KindTraits<Kind::optimizer>, const Facts& facts,
                                   const VerifyOptions& options);
std::vector<FreeCase> listed_cases(KindTraits<Kind::precision>, const Facts& facts,
                                   const VerifyOptions& options);
std::vector<FreeCase> listed_cases(KindTraits<Kind::data_loader>, const Facts& facts,
                                   const VerifyOptions& options);

FreeCase drawn_case(KindTraits<Kind::optimizer>, Draw& draw, const Facts& facts,
                    const VerifyOptions& options);
FreeCase drawn_case(KindTraits<Kind::precision>, Draw& draw, const Facts& facts,
                    const VerifyOptions& options);
FreeCase drawn_case(KindTraits<Kind::data_loader>, Draw& draw, const Facts& facts,
                    const VerifyOptions& options);

// Whether a listed case of this request is of what is asked for.
bool is_alike(const OptimizerRequest& listed, const OptimizerRequest& asked);
bool is_alike(const PrecisionRequest& listed, const PrecisionRequest& asked);
bool is_alike(const DataLoaderRequest& listed, const DataLoaderRequest& asked);

// "f32", "bf16", ...: how dtypes stand in names of cases.
const char* short_name(DType dtype);

// A float of the surroundings of inputs: NaN with poison, else 0.
double surroundings(const Variation& variation);

}  // namespace switchyard::conformance
