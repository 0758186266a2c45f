// Linear layers on the CPU, in tiles or streamed where that is faster than LibTorch's products
// (products.h).
#pragma once

#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

#include "products.h"

namespace switchyard {

class GemmLinear final : public Linear {
public:
    explicit GemmLinear(const CreateInfo& info);
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override;
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override;

    void* query(std::string_view id) override {
        return component_property(
            id, {{computes_in_property, ran_.computed_in},
                 {thread_counts_property,
                  options_.fixed_order
                      ? ""
                      : "linear layers are LibTorch's products on a processor without AVX-512"}});
    }

private:
    ProductOptions options_;
    Ran ran_;  // how the last product was made
};

}  // namespace switchyard
