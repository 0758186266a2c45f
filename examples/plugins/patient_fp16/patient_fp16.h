// What computes in float16, and what does not:
//
//     parameters, normalization, residual stream, embeddings   float32
//     linear layers, activations                               float16, but for those that `keep` names
//     attention                                                as the option says
//     loss                                                     the dtype of the linear layer that makes its
//                                                              logits: a copy would hold the same numbers
//
// Small gradients are 0 in float16, so the loss is scaled (Micikevicius et al. 2018, arXiv:1710.03740).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

#include "patient_scale.h"

class PatientFp16 final : public switchyard::Precision {
public:
    explicit PatientFp16(const switchyard::CreateInfo& info);

    static switchyard::Verdict supports(const switchyard::PrecisionRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    switchyard::DType storage(switchyard::OpClass op, const std::string& layer) const override;
    switchyard::DType compute(switchyard::OpClass op, const std::string& layer) const override;

    double loss_scale() const override;
    void update(bool found_inf) override;
    switchyard::PrecisionState state() const override;
    void load(const switchyard::PrecisionState& state) override;

    void* query(std::string_view question) override {
        return switchyard::component_property(question, {{switchyard::thread_counts_property, ""}});
    }

private:
    std::vector<std::string> keep_;
    switchyard::DType attention_;
    std::optional<PatientScale> scale_;  // unless precision.loss_scaling = false
};
