#include "core/workbench/bench/bench_attention.h"

#include <ATen/ops/scaled_dot_product_attention.h>

#include <switchyard/reference/attention.h>
#include "core/kernel/runtime/operations/attention_op.h"
#include "core/kernel/runtime/operations/bind.h"
#include "core/workbench/bench/bench_tensors.h"

namespace switchyard::bench {

namespace {

// Elements of the score matrix that are checked against the oracle: about a second in float64.
constexpr std::int64_t checked_pairs = std::int64_t{1} << 22;
// One head of one sequence that is still checked: half a gigabyte in float64.
constexpr std::int64_t most_checked_pairs = std::int64_t{1} << 26;

std::vector<NamedInput> named(const AttentionInputs& inputs, bool bias_gradient) {
    return {{"q", inputs.q},
            {"k", inputs.k},
            {"v", inputs.v},
            {"relative_bias", inputs.relative_bias, bias_gradient},
            {"dense_bias", inputs.dense_bias, false}};
}

AttentionInputs pack(const std::vector<at::Tensor>& in) { return {in[0], in[1], in[2], in[3], in[4]}; }

class AttentionCase final : public BenchCase {
public:
    AttentionCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : settings_(settings),
          shape_(shape),
          dtype_(dtype),
          problem_(attention_problem(settings, shape, dtype)),
          part_(part_to_check(problem_, checked_pairs)),
          pairs_(visible_pairs(problem_)) {}

    resolver::SlotUse use(Pass pass) const override {
        auto request = std::make_shared<AttentionRequest>();
        fill_request(*request, settings_, dtype_, pass);
        request->batch = shape_.batch;
        request->heads = shape_.heads;
        request->kv_heads = shape_.kv_heads;
        request->q_length = shape_.q_length;
        request->kv_length = shape_.kv_length;
        if (settings_.layout == Layout::packed && settings_.lengths) {
            request->q_length = request->kv_length = Range(settings_.lengths->min, settings_.lengths->max);
        }
        request->head_dim = shape_.head_dim;
        request->v_head_dim = shape_.head_dim;
        request->masks = settings_.masks();
        request->bias_gradient = request->needs_grad && settings_.relative_buckets > 0;
        request->dropout = settings_.dropout;
        request->query_offsets = problem_.params.mask.query_offsets.defined();
        request->custom_scale = problem_.params.scale > 0.0;
        return bench_use(Kind::attention, request);
    }

    // Two products forward; backward four more, and q k^T once again, since a kernel that does not keep the
    // scores has to. Arguments and results once each.
    Work work(Pass pass) const override {
        if (pass == Pass::backward) return without_forward(work(Pass::forward_backward), work(Pass::forward));
        const bool backward = pass == Pass::forward_backward;
        const double products = backward ? 7.0 : 2.0;
        const auto q = static_cast<double>(problem_.inputs.q.numel()),
                   k = static_cast<double>(problem_.inputs.k.numel());
        const double tensors = backward ? 5.0 * q + 6.0 * k : 2.0 * q + 2.0 * k;
        const auto heads = static_cast<double>(shape_.heads), head_dim = static_cast<double>(shape_.head_dim);
        // Decoding: a key and its value are read for a few queries, too few to be bound by products.
        const bool decodes = !backward && shape_.q_length * (shape_.heads / shape_.kv_heads) <= 8 &&
                             shape_.kv_length > 8 * shape_.q_length;
        return {2.0 * products * pairs_ * heads * head_dim, tensors * static_cast<double>(size_of(dtype_)),
                decodes, decodes};
    }

    std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                    const HostInfo& host, Pass pass) override {
        using runtime::AttentionOp;
        const auto make = [this, pass](const AttentionOp& operation, bool dropout) {
            return TensorCall(
                [operation, params = params_on_device(dropout)](const std::vector<at::Tensor>& in) {
                    return std::vector<at::Tensor>{operation(pack(in), params).out};
                },
                named(problem_.inputs, true), {problem_.grad_out}, pass, settings_.device);
        };
        const auto select = [this](const CheckedTensors& all) {
            CheckedTensors checked;
            for (const CheckedTensor& tensor : all) {
                if (is_checked(tensor.name))
                    checked.push_back(
                        {tensor.name, part_of(problem_, part_, tensor.name, tensor.value), tensor.gradient});
            }
            return checked;
        };
        return std::make_unique<OperationContender<AttentionOp>>(
            runtime::bind<AttentionOp>(row, registry, host), make, std::vector<std::string>{"out"}, select);
    }

    CheckedTensors reference(Pass pass, DType dtype, bool dropout) override {
        const AttentionProblem part = part_of(problem_, part_);
        const TensorFunction function = [params = params(part, dropout)](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{reference::attention(pack(in), params).out};
        };
        const auto inputs = in_dtype(named(part.inputs, is_checked("grad relative_bias")), dtype_, dtype);
        return TensorCall(function, inputs, {part.grad_out}, pass).results({"out"});
    }

    bool checkable() const override {
        const AttentionProblem part = part_of(problem_, part_);
        std::int64_t pairs = 0;
        for (std::size_t i = 0; i < part.q_lengths.size(); ++i)
            pairs += part.q_lengths[i] * part.k_lengths[i];
        return pairs * part.heads <= most_checked_pairs;
    }

    std::string checked_part() const override {
        if (part_.whole(problem_)) return "";
        const std::int64_t group = problem_.heads / problem_.kv_heads;
        return std::to_string(part_.kv_heads * group) + " of " + std::to_string(problem_.heads) +
               " heads of " + std::to_string(part_.sequences) + " of " +
               std::to_string(problem_.q_lengths.size()) + " sequences";
    }

    std::function<void()> bare(Pass pass) override {
        const MaskSet masks = problem_.params.mask.kinds;
        if (settings_.layout != Layout::padded || !masks.within({MaskKind::causal}) ||
            shape_.q_length != shape_.kv_length || problem_.params.mask.query_offsets.defined())
            return {};
        const TensorFunction function = [causal = settings_.causal, p = settings_.dropout,
                                         grouped = shape_.heads !=
                                                   shape_.kv_heads](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{
                at::scaled_dot_product_attention(in[0], in[1], in[2], {}, p, causal, std::nullopt, grouped)};
        };
        return [call = TensorCall(function, named(problem_.inputs, true), {problem_.grad_out}, pass)] {
            call.run();
        };
    }

private:
    static AttentionParams params(const AttentionProblem& problem, bool dropout) {
        AttentionParams params = problem.params;
        if (!dropout) params.dropout = {};
        return params;
    }

    AttentionParams params_on_device(bool dropout) const {
        AttentionParams made = params(problem_, dropout);
        for (at::Tensor* of : {&made.mask.key_lengths, &made.mask.query_offsets, &made.mask.cu_seqlens_q,
                               &made.mask.cu_seqlens_k, &made.mask.prefix_lengths, &made.mask.alibi_slopes})
            *of = on_device(*of, settings_.device);
        return made;
    }

    // The table's gradient is a sum over all sequences.
    bool is_checked(const std::string& name) const {
        return name != "grad relative_bias" ||
               part_.sequences == static_cast<std::int64_t>(problem_.q_lengths.size());
    }

    BenchSettings settings_;
    BenchShape shape_;
    DType dtype_;
    AttentionProblem problem_;
    AttentionPart part_;
    double pairs_;
};

}  // namespace

std::unique_ptr<BenchCase> case_of(KindTraits<Kind::attention>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype) {
    return std::make_unique<AttentionCase>(settings, shape, dtype);
}

}  // namespace switchyard::bench
