// Delayed scaling: a tensor's scale comes from the largest magnitudes that it had in the steps before.
//
//     scale = (largest / amax) / 2^margin        amax: the largest of the last `length` steps', or the last
//       step's
//
// after every `interval`-th step, for x, weight and the gradient of y of each linear layer; it stays where
// amax is 0. As TransformerEngine documents it (DelayedScaling in common/recipe/__init__.py, and
// docs/examples/fp8_primer). Two things differ: a magnitude that is not finite counts as none instead of
// standing in the history, which under `max` would hold the scale as long as the history is; and before a
// layer's first step there is no scale at all, where TransformerEngine's is 1 - whoever casts then takes the
// present values.
//
// Within a step the largest of all its calls counts. What a step has seen is taken over by `end_step`, or
// dropped by `begin_step`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/precision.h>

namespace switchyard::fp8 {

enum class Role : std::uint8_t { x, weight, gradient };

class AmaxHistory {
public:
    struct Settings {
        std::int64_t length = 1024;
        std::int64_t margin = 0;
        std::int64_t interval = 1;
        bool most_recent = false;  // else the largest
    };
    explicit AmaxHistory(const Settings& settings) : settings_(settings) {}

    // [], or undefined where there is none yet.
    at::Tensor scale(const std::string& site, Role role, at::Device device);
    // amax [] of one call.
    void record(const std::string& site, Role role, const at::Tensor& amax);

    void begin_step();
    void end_step();

    // For each site "amax_history.SITE" [length, 3], the last step first, and "scale.SITE" [3], columns as in
    // Role; "steps" of int64.
    PrecisionState state() const;
    // A state without any of these was saved under another policy: begins anew. Throws std::invalid_argument
    // on one of no use; then nothing has changed.
    void load(const PrecisionState& state);

private:
    struct Site {
        at::Tensor history_H3, scale_3;     // undefined before the first step
        std::array<at::Tensor, 3> pending;  // of this step
    };
    void advance(Site& site, bool rescale) const;

    Settings settings_;
    std::int64_t steps_ = 0;
    std::map<std::string, Site> sites_;
};

}  // namespace switchyard::fp8
