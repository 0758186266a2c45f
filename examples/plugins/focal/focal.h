// Losses that the core has no name for. Of a row with the probability p for its target, and of a value that
// is off by d:
//
//     custom:focal     (1 - p)^gamma * -log(p), Lin et al. 2017, arXiv:1708.02002, without its weights of
//                      classes
//     custom:huber     d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), Huber 1964
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/verdict.h>

class FocalLoss final : public switchyard::Loss {
public:
    explicit FocalLoss(const switchyard::CreateInfo& info);

    // Pure: looks at the request and the host, touches no tensor and no device. Says all that is in the way.
    static switchyard::Verdict supports(const switchyard::LossRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    switchyard::LossOutputs forward(const switchyard::LossInputs& inputs,
                                    const switchyard::LossParams& params, switchyard::Saved* saved) override;

private:
    double gamma_, delta_;
    bool of_values_;
};
