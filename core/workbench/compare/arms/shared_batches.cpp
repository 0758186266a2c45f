#include "core/workbench/compare/arms/shared_batches.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "core/workbench/model/weights/tensors.h"

namespace switchyard::compare {
namespace {

// [total] of a packed batch as [sequences, longest].
at::Tensor unpacked(const at::Tensor& values, const Tokens& tokens, std::int64_t filler) {
    const auto ends = tokens.cu_seqlens.to(at::kCPU, at::kLong).contiguous();
    const auto* const end = ends.const_data_ptr<std::int64_t>();
    const auto rows = ends.numel() - 1;
    std::int64_t longest = 0;
    for (std::int64_t row = 0; row < rows; ++row) longest = std::max(longest, end[row + 1] - end[row]);
    auto padded = at::full({rows, longest}, filler, values.options().device(at::kCPU));
    const auto flat = values.to(at::kCPU);
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto length = end[row + 1] - end[row];
        padded.select(0, row).narrow(0, 0, length).copy_(flat.narrow(0, end[row], length));
    }
    return padded;
}

class Writer {
public:
    explicit Writer(std::vector<model::NamedTensor>& tensors) : tensors_(tensors) {}

    void add(const std::string& prefix, const Batch& batch) {
        add_side(prefix, "", batch.source);
        if (batch.target.ids.defined()) add_side(prefix, "target_", batch.target);
        if (batch.float_labels.defined())
            tensors_.push_back({prefix + "float_labels", batch.float_labels.to(at::kCPU)});
        if (!batch.labels.defined()) return;
        const auto& side = batch.target.ids.defined() ? batch.target : batch.source;
        const bool per_token = batch.labels.sizes() == side.ids.sizes();
        put(prefix + "labels", per_token ? spread(batch.labels, side.tokens, -100) : batch.labels);
    }

private:
    void put(const std::string& name, const at::Tensor& value) {
        tensors_.push_back({name, value.to(at::kCPU, at::kLong)});
    }

    static at::Tensor spread(const at::Tensor& values, const Tokens& tokens, std::int64_t filler) {
        return tokens.layout == Layout::packed ? unpacked(values, tokens, filler) : values;
    }

    void add_side(const std::string& prefix, const std::string& side, const TokenBatch& batch) {
        const auto& tokens = batch.tokens;
        const auto ids = spread(batch.ids, tokens, 0);
        auto mask = at::ones(ids.sizes(), at::kLong);
        if (tokens.layout == Layout::packed) {
            mask = unpacked(at::ones(batch.ids.sizes(), at::kLong), tokens, 0);
        } else if (tokens.lengths.defined()) {
            const auto lengths = tokens.lengths.to(at::kCPU, at::kLong).unsqueeze(1);
            mask = at::arange(ids.size(1), at::kLong).unsqueeze(0).lt(lengths).to(at::kLong);
        }
        put(prefix + side + "ids", ids.to(at::kCPU).mul(mask));
        put(prefix + side + "attention_mask", mask);
        if (batch.token_type_ids.defined())
            put(prefix + side + "token_type_ids", spread(batch.token_type_ids, tokens, 0));
    }

    std::vector<model::NamedTensor>& tensors_;
};

}  // namespace

base::FileError write_shared_batches(const std::string& path, const std::vector<std::vector<Batch>>& steps) {
    std::vector<model::NamedTensor> tensors;
    Writer writer(tensors);
    for (std::size_t step = 0; step < steps.size(); ++step) {
        for (std::size_t micro = 0; micro < steps[step].size(); ++micro)
            writer.add(std::to_string(step) + "." + std::to_string(micro) + ".", steps[step][micro]);
    }
    return model::write_safetensors(path, tensors, {{"steps", std::to_string(steps.size())}});
}

std::vector<StepCounts> read_step_counts(const std::string& path) {
    std::vector<StepCounts> steps;
    const auto opened = model::SafetensorsFile::open(path);
    if (!opened.file) return steps;
    for (const auto& tensor : opened.file->tensors()) {
        const bool source = tensor.name.ends_with(".ids");
        if ((!source && !tensor.name.ends_with(".target_ids")) || tensor.shape.size() != 2) continue;
        const auto step = static_cast<std::size_t>(std::stoull(tensor.name));
        if (step >= steps.size()) steps.resize(step + 1);
        steps[step].samples += source ? tensor.shape[0] : 0;
        steps[step].tokens += tensor.shape[0] * tensor.shape[1];
    }
    return steps;
}

}  // namespace switchyard::compare
