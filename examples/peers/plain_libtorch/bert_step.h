// A training step of a BERT classifier written down straight in LibTorch's own calls: what the same step
// through components is held against (Devlin et al. 2018, arXiv:1810.04805).
//
// Forward with dropout, backward, clipping by the norm of all gradients, `_fused_adamw_`; in bfloat16 under
// autocast, as a PyTorch program has it. Parameters have the names of transformers'
// BertForSequenceClassification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include "tensor_file.h"

namespace peer {

// What a step takes, from the files and the message that the comparison gives.
struct Model {
    std::int64_t layers = 0, hidden = 0, heads = 0;
    double norm_eps = 0.0, dropout = 0.0, attention_dropout = 0.0;
    std::int64_t ignore_index = -100;
    double label_smoothing = 0.0;
};

struct AdamW {
    double lr = 0.0, beta1 = 0.0, beta2 = 0.0, eps = 0.0, weight_decay = 0.0, max_grad_norm = 0.0;
};

struct MicroBatch {
    at::Tensor ids, attention_mask, labels;
    at::Tensor token_type_ids;  // undefined: all tokens are of the first type
};
using StepBatches = std::vector<MicroBatch>;

class BertStep {
public:
    // `values` become the parameters. `autocast`: matrix products and attention in bfloat16.
    BertStep(const Model& model, const AdamW& optimizer, Tensors values, bool autocast);

    // One step; the mean loss over all labels. `factor`: of the learning rate.
    double step(const StepBatches& batches, double factor);
    // The first step's loss, logits of its first batch and "gradient.NAME", dropout off, nothing changed.
    double first(const StepBatches& batches, Tensors& found);

private:
    struct Group {
        std::vector<at::Tensor> values, first, second, steps;
        double weight_decay = 0.0;
    };

    at::Tensor linear(const std::string& name, const at::Tensor& x) const;
    at::Tensor norm(const std::string& name, const at::Tensor& x) const;
    at::Tensor drop(const at::Tensor& x) const;
    at::Tensor attend(const std::string& name, const at::Tensor& x_BNC, const at::Tensor& mask) const;
    at::Tensor logits(const MicroBatch& batch) const;
    double accumulate(const StepBatches& batches, at::Tensor* first_logits);
    void update(double lr);

    Model model_;
    AdamW optimizer_;
    Tensors p_;
    std::vector<Group> groups_;
    bool autocast_;
    bool dropout_on_ = true;
};

}  // namespace peer
