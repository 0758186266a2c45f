// Parameters of layers that are not there all the time: had before a layer runs and let go after it, in
// forward and again in backward.
#pragma once

#include <memory>

#include "core/kernel/config/layer_rule.h"

namespace switchyard::model {

class LayerParameters {
public:
    virtual ~LayerParameters() = default;
    virtual void before_forward(const config::LayerId& layer) = 0;
    virtual void after_forward(const config::LayerId& layer) = 0;
    // Before anything of the layer's backward runs.
    virtual void before_backward(const config::LayerId& layer) = 0;
    // When all of it has, and the gradients of the layer's parameters are with them. Not called for a layer
    // none of whose inputs needs a gradient.
    virtual void after_backward(const config::LayerId& layer) = 0;

    // They are there for as long as what is returned lives.
    std::shared_ptr<void> in_forward(const config::LayerId& layer) {
        before_forward(layer);
        return {nullptr, [this, layer](std::nullptr_t) { after_forward(layer); }};
    }
};

}  // namespace switchyard::model
