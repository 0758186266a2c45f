// Parameters of layers that are not there all the time: brought before a layer runs, and let go after it, in
// forward and, where the layer runs again, in backward.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/layer_rule.h"

namespace switchyard::model {

class LayerParameters {
public:
    virtual ~LayerParameters() = default;
    virtual void bring(const config::LayerId& layer, bool backward) = 0;
    virtual void let_go(const config::LayerId& layer, bool backward) = 0;
    // Gradients that a backward of the layer made of `parameters`; what it takes it resets.
    virtual void take(const config::LayerId& layer, const std::vector<at::Tensor>& parameters,
                      std::vector<at::Tensor>& gradients) = 0;

    // They are there for as long as what is returned lives.
    std::shared_ptr<void> hold(const config::LayerId& layer, bool backward) {
        bring(layer, backward);
        return {nullptr, [this, layer, backward](std::nullptr_t) { let_go(layer, backward); }};
    }
};

}  // namespace switchyard::model
