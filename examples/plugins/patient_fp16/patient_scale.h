// A loss scale with hysteresis, as Megatron-LM's DynamicGradScaler keeps it (Shoeybi et al. 2019,
// arXiv:1909.08053, and its megatron/core/optimizer/grad_scaler.py): of the overflows since the scale last
// grew the first `patience` - 1 change nothing, and every further one halves it, down to `min_scale`. After
// `growth_interval` steps in a row without overflow it is doubled, unless that is no finite float32, and the
// patience is whole again.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/precision.h>

class PatientScale {
public:
    explicit PatientScale(const switchyard::Options& options);

    double value() const { return static_cast<double>(scale_); }
    void update(bool found_inf);

    switchyard::PrecisionState state() const;
    // Throws std::invalid_argument saying what is missing or of no use; then nothing has changed.
    void load(const switchyard::PrecisionState& state);

private:
    std::int64_t growth_interval_, patience_;
    float min_scale_, scale_;
    std::int64_t steps_without_overflow_ = 0;
    std::int64_t patience_left_;
};
