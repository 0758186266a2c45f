#include <switchyard/conformance/hidden_states.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/dropout_mask.h>

namespace switchyard::conformance {

std::string name_of(const HiddenSpec& spec) {
    std::ostringstream text;
    text << name(spec.layout) << "/" << spec.family << "/" << short_name(spec.dtype) << "/B" << spec.batch
         << "S" << spec.seq << "/W" << spec.width;
    if (!spec.wide_parameters) text << "/narrow_parameters";
    if (spec.dropout > 0.0) text << "/p" << spec.dropout;
    if (spec.count_dropped) text << "/mask";
    if (!spec.needs) text << "/grad_none";
    if (spec.threaded) text << "/threads";
    text << spec.detail;
    return text.str();
}

void draw_hidden(HiddenSpec& spec, Draw& draw, const std::vector<DType>& dtypes) {
    spec.family = draw.family();
    spec.dtype = draw.one_of(dtypes);
    if (draw.special(0.3)) spec.layout = Layout::packed;
    spec.batch = draw.between(1, 4);
    spec.width = draw.special(0.6) ? draw.size(1, 5000) : 64 * draw.size(1, 32);
    spec.seq = draw.size(1, std::max<std::int64_t>(1, 40000 / (spec.batch * spec.width)));
    if (draw.special(0.35)) {
        std::vector<Placement> placements = {Placement::permuted, Placement::sliced, Placement::stepped};
        // Rows that are equal are rounded alike, and over many of them no errors of sums cancel (Higham &
        // Mary 2019).
        if (spec.batch * spec.seq <= 16) placements.push_back(Placement::expanded);
        spec.placement = draw.one_of(placements);
        spec.grad_placement = draw.one_of(placements);
        spec.detail = std::string("/") + name(spec.placement) + "+" + name(spec.grad_placement);
    }
    if (draw.special(0.35)) spec.dropout = static_cast<double>(draw.between(1, 18)) / 20.0;
    if (draw.special(0.3)) spec.first_document = draw.between(1, 1000);
    spec.needs = !draw.special(0.2);
    spec.deterministic = draw.special(0.15);
    spec.threaded = draw.special(0.2);
    spec.wide_parameters = draw.chance(0.5);
}

void request_hidden(HiddenSpec& spec, const Request& asked, Range rows, Range width, RequestDraw& draw) {
    constexpr std::int64_t most_values = 400000;
    spec.family = draw.family();
    spec.dtype = asked.dtype;
    spec.layout = asked.layout;
    spec.needs = asked.needs_grad;
    spec.deterministic = asked.deterministic;
    spec.width = draw.within(width, most_values);
    spec.batch = 1;
    spec.seq = draw.within(rows, most_values / spec.width);
    if (draw.largest() && spec.seq % 2 == 0) spec.batch = 2, spec.seq /= 2;
    spec.first_document = draw.between(0, 1000);
    spec.threaded = draw.chance(0.5);
}

void fill_request(Request& request, const HiddenSpec& spec, const VerifyOptions& options) {
    request.dtype = spec.dtype;
    request.device = options.device;
    request.layout = spec.layout;
    request.phase = spec.needs ? Phase::train : Phase::eval;
    request.needs_grad = spec.needs;
    request.deterministic = spec.deterministic;
    request.allow_reduced = true;
}

std::vector<std::int64_t> hidden_sizes(const HiddenSpec& spec, std::int64_t width) {
    if (spec.layout == Layout::packed) return {spec.batch * spec.seq, width};
    return {spec.batch, spec.seq, width};
}

Tokens tokens_of(const HiddenSpec& spec, const VerifyOptions& options) {
    Tokens tokens;
    tokens.layout = spec.layout;
    tokens.first_document = spec.first_document;
    if (spec.layout == Layout::padded) return tokens;
    const at::Device device(to_device_type(options.device));
    const std::int64_t total = spec.batch * spec.seq, first = total / 3;
    tokens.cu_seqlens = at::tensor({std::int64_t{0}, first, first, total}, at::kInt).to(device);
    tokens.positions =
        at::cat({at::arange(first, at::kLong), at::arange(total - first, at::kLong)}).to(device);
    tokens.max_seqlen = total - first;
    return tokens;
}

void inspect_dropout(const at::Tensor& shown, double kept_value, const HiddenSpec& spec,
                     const Dropout& dropout, const Tokens& tokens, const Facts& facts,
                     std::vector<Fault>& faults) {
    const at::Tensor kept = shown.detach().ne(0.0).cpu();
    if (facts.random == RandomSource::counter) {
        const at::Tensor expected = reference::hidden_keep_mask(dropout, tokens, shown.sizes());
        if (!kept.equal(expected)) {
            faults.push_back({"wrong_mask", "",
                              std::to_string(kept.ne(expected).sum().item<std::int64_t>()) + " of " +
                                  std::to_string(kept.numel()) +
                                  " dropout decisions differ from the generator's"});
        }
    } else {
        const double p = 1.0 - kept.to(at::kDouble).mean().item<double>();
        const double deviation =
            std::sqrt(spec.dropout * (1.0 - spec.dropout) / static_cast<double>(kept.numel()));
        if (std::abs(p - spec.dropout) > 6.0 * deviation) {
            faults.push_back({"wrong_mask", "",
                              "dropped " + std::to_string(p) + " of the values, asked for " +
                                  std::to_string(spec.dropout)});
        }
    }
    const double factor = shown.detach().to(at::kDouble).max().item<double>() / kept_value;
    if (std::abs(factor * (1.0 - spec.dropout) - 1.0) > 0.02) {
        faults.push_back({"wrong_output", "",
                          "what dropout keeps is multiplied by " + std::to_string(factor) + ", expected " +
                              std::to_string(1.0 / (1.0 - spec.dropout))});
    }
}

}  // namespace switchyard::conformance
