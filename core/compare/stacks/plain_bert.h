// The same training step of a BERT classifier written down straight in LibTorch's own calls, with no component, plan or policy in
// between: what a step through the components is held against.
//
// Forward with dropout, backward, clipping by the norm of all gradients, `_fused_adamw_`; in bfloat16 under autocast, as a PyTorch
// program has it. Devlin et al. 2018, arXiv:1810.04805.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/config/config.h>
#include <switchyard/interfaces/batch.h>
#include <switchyard/model/parameters.h>

namespace switchyard::compare {

class PlainBert {
public:
    // Why this configuration has no plain step, or "".
    static std::string unsupported(const config::Config& config);

    // Begins with copies of these values. `autocast`: matrix products and attention in bfloat16.
    PlainBert(const config::Config& config, const model::Parameters& parameters, bool autocast);

    // One step over a padded batch; its mean loss.
    double step(const Batch& batch);
    // Forward and backward without dropout; the mean loss, gradients by parameter in the order given.
    std::pair<double, std::vector<at::Tensor>> gradients(const Batch& batch);

private:
    struct Group {
        std::vector<at::Tensor> values, first, second, steps;
        double weight_decay = 0.0;
    };

    at::Tensor linear(const std::string& name, const at::Tensor& x) const;
    at::Tensor norm(const std::string& name, const at::Tensor& x) const;
    at::Tensor drop(const at::Tensor& x, double p) const;
    at::Tensor attend(const std::string& name, const at::Tensor& x, const at::Tensor& mask) const;
    at::Tensor loss(const Batch& batch) const;
    at::Tensor guarded_loss(const Batch& batch) const;
    void update();

    config::Config config_;
    std::vector<at::Tensor> order_;
    std::map<std::string, at::Tensor> p_;
    std::vector<Group> groups_;
    bool autocast_;
    bool dropout_on_ = true;
};

}  // namespace switchyard::compare
