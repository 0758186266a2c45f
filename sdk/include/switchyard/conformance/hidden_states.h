// Hidden states for the cases of normalization and activation: shapes, tokens, placements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/conformance/draw.h>
#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/values.h>
#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/tokens.h>

namespace switchyard::conformance {

struct HiddenSpec {
    std::string family;
    DType dtype = DType::float32;
    Layout layout = Layout::padded;
    std::int64_t batch = 2, seq = 5, width = 64;  // packed: batch * seq rows in sequences of uneven length
    Placement placement = Placement::dense, grad_placement = Placement::dense;
    double dropout = 0.0;
    std::int64_t first_document = 0;
    bool needs = true;  // gradients of everything
    bool deterministic = false;
    bool threaded = false;
    bool wide_parameters = true;  // bias, weight and beta in float32
    bool count_dropped = false;   // the outputs show the dropout mask
    bool nan = false;             // one value of x is NaN
    std::string detail = "";      // the name's end: what it does not tell otherwise
};

// What both kinds have, by chance, and its detail.
void draw_hidden(HiddenSpec& spec, Draw& draw, const std::vector<DType>& dtypes);

// Of a request: its dtype and layout, sizes within its ranges.
void request_hidden(HiddenSpec& spec, const Request& asked, Range rows, Range width, RequestDraw& draw);

// "layout/family/f32/B2S5/W64...".
std::string name_of(const HiddenSpec& spec);

// What every request of such a kind has.
void fill_request(Request& request, const HiddenSpec& spec, const VerifyOptions& options);

std::vector<std::int64_t> hidden_sizes(const HiddenSpec& spec, std::int64_t width);
Tokens tokens_of(const HiddenSpec& spec, const VerifyOptions& options);

// Are zeros of `shown` (one value a decision) where the generator has them, or (a library's) about as many as
// they should be? Otherwise a fault wrong_mask; and is what is kept `kept_value` / (1 - p)? Otherwise
// wrong_output.
void inspect_dropout(const at::Tensor& shown, double kept_value, const HiddenSpec& spec,
                     const Dropout& dropout, const Tokens& tokens, const Facts& facts,
                     std::vector<Fault>& faults);

}  // namespace switchyard::conformance
