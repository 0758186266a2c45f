// Dynamic loss scaling (Micikevicius et al. 2018, arXiv:1710.03740, section 3.2), step for step what
// PyTorch's GradScaler does: after a step whose gradients were not finite the scale is multiplied with
// `backoff_factor`; after `growth_interval` steps in a row without one it is multiplied with `growth_factor`,
// unless that is no finite float32. Unlike GradScaler's it never falls below 2^-126, the smallest normal
// float32: at 0 no step would ever be made again.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/precision.h>

namespace switchyard {

class LossScaler {
public:
    struct Settings {
        double init_scale = 65536.0;
        double growth_factor = 2.0;
        double backoff_factor = 0.5;
        std::int64_t growth_interval = 2000;
    };
    explicit LossScaler(const Settings& settings);

    double scale() const { return static_cast<double>(scale_); }
    void update(bool found_inf);

    PrecisionState state() const;
    // Throws std::invalid_argument saying what is missing or of no use; then nothing has changed.
    void load(const PrecisionState& state);

private:
    Settings settings_;
    float scale_;
    std::int64_t steps_without_overflow_ = 0;
};

}  // namespace switchyard
