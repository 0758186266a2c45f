#include "core/workbench/model/step_flops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/workbench/model/builder.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/window_pairs.h"

namespace switchyard::model {
namespace {

class FlopsCounter final : public Builder {
public:
    FlopsCounter(const config::Config& config, const std::function<bool(const std::string&)>& trained)
        : Builder(config), trained_(trained) {}

    at::Tensor parameter(const std::string& name, std::vector<std::int64_t>, const Initial&,
                         const ParameterCut&) override {
        if (!any_trained() && trained_(name)) first_trained_ = names_.size();
        names_.push_back(name);
        return {};
    }
    std::shared_ptr<const QuantizedWeight> quantized_weight(const std::string& linear, std::int64_t out,
                                                            std::int64_t in) override {
        parameter(linear + ".weight", {out, in}, {}, {});
        return nullptr;
    }
    at::Tensor constant(const std::function<at::Tensor()>&) override { return {}; }

    void begin_part(const std::string& name, const config::LayerId* layer,
                    std::optional<Unit> rows) override {
        rows_ = rows ? *rows : layer != nullptr ? side_of(layer->stack) : Unit::source;
        input_needs_gradient_ = any_trained();
        part_ = name;
        stack_ = layer != nullptr ? layer->stack : config::Stack::decoder;
    }

    void add_attention(Unit pairs, std::int64_t width, std::int64_t window) override {
        const double forward = 4.0 * static_cast<double>(width);
        const auto share = share_in_window(config().model, stack_, window, config().batch.max_length);
        products_.push_back({values_, part_, pairs, forward, any_trained() ? 2.0 * forward : 0.0, share});
    }

    const std::vector<StepProduct>& products() const { return products_; }

private:
    runtime::Operation operation(const SlotPlace&, Phase, const MakeRequest&) override { return {}; }

    void note_linear(const LinearPlace& place, std::int64_t in, std::int64_t out) override {
        const auto weight = place.name + ".weight";
        const auto found = std::find(names_.rbegin(), names_.rend(), weight);
        // One whose weight is an embedding table has none of its own.
        const bool tied = found == names_.rend();
        const auto number = static_cast<std::size_t>(names_.rend() - found) - (tied ? 0 : 1);
        const bool input_gradient = reads_part_input(place) ? input_needs_gradient_
                                    : tied                  ? any_trained()
                                                            : first_trained_ < number;
        const bool weight_gradient = trained_(tied ? "embeddings.word" : weight);
        const double gradients = (input_gradient ? 1.0 : 0.0) + (weight_gradient ? 1.0 : 0.0);
        const double forward = product_flops(1, in, out);
        products_.push_back(
            {weight, part_, place.of_memory ? Unit::source : rows_, forward, gradients * forward});
        if (place.role == LinearRole::key_value && !is_low_rank(weight)) values_ = weight;
    }

    // Those that stand beside each other, of which an earlier one does not come before the others.
    static bool reads_part_input(const LinearPlace& place) {
        if (place.name.ends_with(".lora_b")) return false;
        return place.role == LinearRole::query || place.role == LinearRole::key_value ||
               place.role == LinearRole::feed_forward_in;
    }
    bool any_trained() const { return first_trained_ != none; }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    const std::function<bool(const std::string&)>& trained_;
    std::vector<std::string> names_;  // of parameters, in the order of the forward
    std::size_t first_trained_ = none;
    bool input_needs_gradient_ = false;  // of the part: something before it is trained
    Unit rows_ = Unit::source;
    std::string part_, values_;  // values_: the weight that the next attention's values are made with
    config::Stack stack_ = config::Stack::decoder;
    std::vector<StepProduct> products_;
};

// Real tokens of each sequence.
std::vector<double> lengths_of(const TokenBatch& side) {
    std::vector<double> lengths;
    if (!side.ids.defined()) return lengths;
    const auto& tokens = side.tokens;
    const bool packed = tokens.layout == Layout::packed;
    const auto& told = packed ? tokens.cu_seqlens : tokens.lengths;
    if (!told.defined()) {
        lengths.assign(static_cast<std::size_t>(side.ids.size(0)), static_cast<double>(side.ids.size(1)));
        return lengths;
    }
    const auto values = told.to(at::kCPU, at::kLong).contiguous();
    const auto* const first = values.const_data_ptr<std::int64_t>();
    for (std::int64_t i = packed ? 1 : 0; i < values.numel(); ++i)
        lengths.push_back(static_cast<double>(packed ? first[i] - first[i - 1] : first[i]));
    return lengths;
}

double sum_of_products(const std::vector<double>& one, const std::vector<double>& other) {
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) sum += one[i] * other[i];
    return sum;
}

}  // namespace

std::optional<Work> step_flops(const config::Config& config,
                               const std::function<bool(const std::string&)>& trained) {
    Work costs;
    for (const auto& product : step_products(config, trained)) {
        if (product.share < 1.0) return std::nullopt;
        costs[product.unit] += product.forward + product.backward;
    }
    return costs;
}

std::vector<StepProduct> step_products(const config::Config& config,
                                       const std::function<bool(const std::string&)>& trained) {
    FlopsCounter counter(config, trained);
    make_model(counter);
    return counter.products();
}

double largest_amount(const config::BatchConfig& batch, const StepProduct& product) {
    const auto tokens = static_cast<double>(batch.most_tokens());
    switch (product.unit) {
        case Unit::sequences:
            return static_cast<double>(batch.size);
        case Unit::source_pairs:
        case Unit::target_pairs:
        case Unit::cross_pairs:
            return tokens * static_cast<double>(batch.max_length) * product.share;
        default:
            return tokens;
    }
}

Work work_of(const Batch& batch, std::int64_t ignore_index) {
    const auto source = lengths_of(batch.source), target = lengths_of(batch.target);
    Work work;
    work[Unit::source] = static_cast<double>(batch.source.count);
    work[Unit::target] = static_cast<double>(batch.target.count);
    work[Unit::sequences] = static_cast<double>(source.size());
    if (batch.labels.defined())
        work[Unit::labels] = static_cast<double>(batch.labels.ne(ignore_index).sum().item<std::int64_t>());
    work[Unit::source_pairs] = sum_of_products(source, source);
    work[Unit::target_pairs] = sum_of_products(target, target);
    work[Unit::cross_pairs] = sum_of_products(target, source);
    return work;
}

double total(const Work& work, const Work& costs) {
    double sum = 0.0;
    for (std::size_t i = 0; i < unit_count; ++i) sum += work.amounts[i] * costs.amounts[i];
    return sum;
}

}  // namespace switchyard::model
