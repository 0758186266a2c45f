// Adafactor: Shazeer & Stern 2018, "Adaptive Learning Rates with Sublinear Memory Cost" (arXiv:1804.04235),
// algorithms 4 and 5, without momentum. Step t of a parameter W [..., n, m], gradient G:
//
//     rate = min(lr, 1 / sqrt(t)) * max(smallest_scale, rms(W));  kept = 1 - t^-decay_exponent
//     R = kept R + (1 - kept) mean over columns of G^2            C likewise, over rows
//     V = R C / mean(R);  U = G / sqrt(V);  U = U / max(1, rms(U) / clip_threshold)
//     W = W - lr weight_decay W - rate U
//
// Of vectors and scalars V is kept whole. What is kept of a matrix are n + m numbers, where Adam keeps 2 n m.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/verdict.h>

class AdaFactor final : public switchyard::Optimizer {
public:
    explicit AdaFactor(const switchyard::CreateInfo& info);

    static switchyard::Verdict supports(const switchyard::OptimizerRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    void bind(const std::vector<switchyard::ParameterGroup>& groups) override;
    switchyard::StepResult step(std::vector<switchyard::ParameterGroup>& groups,
                                const switchyard::StepParams& params) override;
    switchyard::OptimizerState state() const override;
    void load(const switchyard::OptimizerState& state) override;

private:
    // What is remembered of one parameter: rows and columns of a matrix, else `whole`.
    struct Moments {
        at::Tensor rows, columns, whole;
    };

    void update(const switchyard::HyperParameters& hyper, double lr, Moments& moments, at::Tensor weight,
                const at::Tensor& gradient) const;
    at::Tensor direction(Moments& moments, const at::Tensor& gradient) const;

    double decay_exponent_, clip_threshold_, smallest_scale_;
    bool falling_rate_, unscale_;
    std::string algorithm_;
    std::vector<Moments> moments_;                          // in the order of the parameters
    std::vector<switchyard::OptimizerStateEntry> entries_;  // the same tensors, with their names
    std::int64_t step_ = 0;
};
