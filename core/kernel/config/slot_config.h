// The eight slots: who computes. One section of the TOML for each component kind, all with these three keys:
//
//     [attention]
//     backend = "flash"              # [plugin/]component[@variant], an ordered list of them, or "auto"
//     allow_reduced = false          # may a component of Accuracy::reduced be taken?
//     [attention.options.chunked]    # options of the component `chunked`, used when it is chosen
//     chunk_size = 256
//
// Five of them can be shadowed in training (core/workbench/train/shadow):
//
//     [attention]
//     shadow = { backend = "mine", every = 100 }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/options.h>

namespace switchyard::config {

// A candidate that runs beside the trusted component on some training steps, and changes nothing.
struct ShadowConfig {
    std::vector<std::string> backend;  // as that of a slot, never "auto"; empty: none
    std::int64_t every = 100;          // steps 1, 1 + every, 1 + 2 * every, ...
    bool operator==(const ShadowConfig&) const = default;
    bool on() const { return !backend.empty(); }
};

// The kinds whose calls can be run a second time: what they return follows from what they get.
inline constexpr Kind shadowed_kinds[] = {Kind::attention, Kind::normalization, Kind::activation,
                                          Kind::linear, Kind::loss};

struct SlotConfig {
    // Never empty; names have been checked for form, not for existence.
    std::vector<std::string> backend{"auto"};
    bool allow_reduced = false;
    // By component, as written after `options.`: the bare id, or "plugin/id". With schemas (load.h) every
    // component that has a schema is here with all its options; without, what the files say. What
    // "plugin/id" has goes before what the bare id has; a later value of the bare id has changed both.
    std::map<std::string, Options, std::less<>> options;
    ShadowConfig shadow;

    bool operator==(const SlotConfig&) const = default;
    bool automatic() const { return backend.size() == 1 && backend.front() == "auto"; }
};

struct LossConfig : SlotConfig {
    bool projection = false;  // ask for output projection and loss in one: logits need not be whole in memory
    double label_smoothing = 0.0;
    double z_loss = 0.0;
    std::int64_t ignore_index = -100;
    std::string custom;  // the loss's name where it is a custom one; empty: the task's own
    bool operator==(const LossConfig&) const = default;
};

struct OptimizerConfig : SlotConfig {
    OptimizerKind algorithm = OptimizerKind::adamw;
    std::string custom;  // the algorithm's name where it is a custom one, else empty
    double lr = 1e-4;
    std::vector<double> betas{0.9, 0.999};  // always two
    double eps = 1e-8;
    double weight_decay = 0.01;
    double momentum = 0.9;       // sgd, muon
    bool nesterov = false;       // sgd, muon
    double max_grad_norm = 1.0;  // 0: no clipping
    bool operator==(const OptimizerConfig&) const = default;
    // As it is written: "adamw", "custom:adafactor".
    std::string algorithm_name() const { return formula_name(algorithm, custom); }
};

struct PrecisionConfig : SlotConfig {
    // In which the model stores its parameters; empty ("auto"): as the policy asks for.
    std::optional<DType> parameter_dtype;
    // Of the inputs that the other slots are planned for; empty ("auto"): as the policy says.
    std::optional<DType> compute_dtype;
    std::optional<bool> loss_scaling;  // the policy must, or must not, scale the loss; empty: as it needs
    bool operator==(const PrecisionConfig&) const = default;
};

struct DataLoaderConfig : SlotConfig {
    bool shuffle = true;
    bool drop_last = false;  // leave out a last batch that is smaller
    bool operator==(const DataLoaderConfig&) const = default;
};

}  // namespace switchyard::config
