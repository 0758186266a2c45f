// One linear layer called through a precision policy, held against the same in float64.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/values.h>
#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/precision.h>

namespace switchyard::conformance {

struct LinearSpec {
    std::string family;
    DType dtype = DType::float32;              // of the parameters
    std::vector<std::int64_t> rows = {2, 5};   // sizes of x but the last
    std::vector<std::int64_t> also_rows = {};  // not empty: the same policy is called on these in turn
    std::int64_t in = 64, out = 48;
    bool bias = false;
    bool stored_x =
        false;  // x comes in the dtype of the parameters, not in that of the policy's linear layers
    bool infinity = false;  // one value of x is infinite
    Placement x = Placement::dense, weight = Placement::dense, gradient = Placement::dense;
    bool needs = true;
    std::string only;  // the one input whose gradient is asked for; empty: all
    bool deterministic = false, loss_scaling = false;
    int threads = 1;
};

// "precision/linear+bias/stride/x_sliced/f32/2x5x64x48"
std::string name_of(const LinearSpec& spec);

// What a policy says of its linear layers. float8 is taken as what its results come in: bfloat16.
struct LinearDtypes {
    at::ScalarType stored, computed;
};
LinearDtypes dtypes_of(const Precision& policy, const LinearSite& site);

void run_linear(const LinearSpec& spec, const std::shared_ptr<const PrecisionRequest>& request,
                const VerifyOptions& options, Findings& findings);

}  // namespace switchyard::conformance
