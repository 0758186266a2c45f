#include "emulated_templates.h"

#include <stdexcept>

#include <local_component.h>

#include "my_activation.h"
#include "my_attention.h"
#include "my_linear.h"
#include "my_loss.h"
#include "my_normalization.h"
#include "my_optimizer.h"

namespace switchyard::test {
namespace {

const HostInfo& host_with_device() {
    static const HostInfo host = [] {
        HostInfo made;
        DeviceInfo device;
        device.compute_capability = 90;
        made.devices.push_back(device);
        return made;
    }();
    return host;
}

// What takes the emulator seconds is left out.
bool takes_long(const LinearRequest& request) {
    return request.rows.max * request.in * request.out > std::int64_t{4} << 20;
}
template <class R>
bool takes_long(const R&) {
    return false;
}

template <Kind kind, class Class>
Verdict on_device(const Request& given) {
    auto request = KindTraits<kind>::request(given);
    request.device = Device::cuda;
    auto verdict = Class::supports(request, host_with_device(), {});
    if (takes_long(request)) verdict.reject(Code::Shape, "request", "fewer operations", "many");
    return verdict;
}

template <Kind kind, class Class, auto make>
LocalComponent component(GradientMode gradient) {
    auto made = local_component<kind, Class>(gradient, RandomSource::none);
    made.entry.supports = [](const SwitchyardSupports* asked) {
        *static_cast<Verdict*>(asked->verdict) =
            on_device<kind, Class>(*static_cast<const Request*>(asked->request));
    };
    made.entry.create = [](const void* info) -> void* { return make(*static_cast<const CreateInfo*>(info)); };
    return made;
}

using G = GradientMode;

}  // namespace

conformance::ComponentUnderTest emulated_template(Kind kind) {
    static const auto
        activation =
            component<Kind::activation, my_activation_plugin::MyActivationComponent, my_activation_on_cuda>(
                G::recompute),
        attention =
            component<Kind::attention, my_attention_plugin::MyAttentionComponent, my_attention_on_cuda>(
                G::recompute),
        linear = component<Kind::linear, my_linear_plugin::MyLinearComponent, my_linear_on_cuda>(G::kernel),
        loss = component<Kind::loss, my_loss_plugin::MyLossComponent, my_loss_on_cuda>(G::recompute),
        normalization = component<Kind::normalization, my_normalization_plugin::MyNormalizationComponent,
                                  my_normalization_on_cuda>(G::recompute),
        optimizer =
            component<Kind::optimizer, my_optimizer_plugin::MyOptimizerComponent, my_optimizer_on_cuda>(
                G::none);
    switch (kind) {
        case Kind::activation:
            return activation.under_test(host_with_device());
        case Kind::attention:
            return attention.under_test(host_with_device());
        case Kind::linear:
            return linear.under_test(host_with_device());
        case Kind::loss:
            return loss.under_test(host_with_device());
        case Kind::normalization:
            return normalization.under_test(host_with_device());
        case Kind::optimizer:
            return optimizer.under_test(host_with_device());
        default:
            throw std::invalid_argument("there is no template with a kernel of this kind");
    }
}

Verdict verdict_of(Kind kind, const Request& request) {
    Verdict verdict;
    const SwitchyardSupports asked{
        sizeof(SwitchyardSupports), &request, &host_with_device(), nullptr, "", &verdict};
    emulated_template(kind).entry->supports(&asked);
    return verdict;
}

}  // namespace switchyard::test
