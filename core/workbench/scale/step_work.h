// What a step's products take in operations, by the weight whose gradient is made with them: of each stage of
// a pipeline, and before each gradient.
//
// No LibTorch here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/model/describer.h"

namespace switchyard::scale {

// Whether the parameter of that name is trained. Empty: all are.
using Trained = std::function<bool(const std::string&)>;
bool is_trained(const Trained& trained, const std::string& name);

// Whether backward runs parts of that name again, "attention", in every train.recompute_every-th layer.
bool runs_again(config::Recompute recompute, const std::string& part);

// Of one micro-batch, the largest.
struct Flops {
    double forward = 0.0;
    double backward = 0.0;  // with what it runs again of forward

    double all() const { return forward + backward; }
    Flops& operator+=(const Flops& other) {
        forward += other.forward;
        backward += other.backward;
        return *this;
    }
};

struct ProductFlops {
    std::string weight;  // StepProduct::weight
    Flops flops;
};

// Of all stages, in the order of forward.
std::vector<ProductFlops> product_flops_of(const config::Config& config, const Trained& trained);

// Of the stage that `config` says.
Flops flops_of_stage(const config::Config& config, const std::vector<ProductFlops>& products);

// Of each of `parameters`. A head whose weight is the embeddings' is none's: it comes before all of them.
std::vector<Flops> flops_of_parameters(const std::vector<ProductFlops>& products,
                                       const std::vector<model::DescribedParameter>& parameters);

}  // namespace switchyard::scale
