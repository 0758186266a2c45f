#include "core/workbench/model/maker.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::model {

Maker::Maker(const config::Config& config, const BoundPlan& plan, Parameters& parameters)
    : Builder(config),
      plan_(plan),
      parameters_(parameters),
      options_(at::TensorOptions()
                   .dtype(to_scalar_type(config.precision.parameter_dtype.value_or(DType::float32)))
                   .device(to_device_type(config.run.device))),
      generator_(at::detail::createCPUGenerator(static_cast<std::uint64_t>(config.run.seed))) {}

at::Tensor Maker::parameter(const std::string& name, std::vector<std::int64_t> sizes, const Initial& initial,
                            const ParameterCut& cut) {
    const bool drawn = initial.kind == Initial::uniform || initial.kind == Initial::normal;
    const bool own = stage().has(name);
    if (!drawn) {
        if (!own) return {};
        const auto part = cut.own_sizes(std::move(sizes));
        return parameters_.add(
            name, initial.kind == Initial::ones ? at::ones(part, options_) : at::zeros(part, options_), cut);
    }
    auto values = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
    if (initial.kind == Initial::uniform)
        values.uniform_(-initial.deviation, initial.deviation, generator_);
    else
        values.normal_(0.0, initial.deviation, generator_);
    // What other ranks have is drawn with it, so that each is what it is in one process.
    if (!own) return {};
    if (!cut.whole()) values = cut.own(values).clone(at::MemoryFormat::Contiguous);
    return parameters_.add(name, values.to(options_), cut);
}

at::Tensor Maker::constant(const std::function<at::Tensor()>& make) {
    return make().to(to_device_type(config().run.device));
}

std::vector<at::Tensor> Maker::made_since(std::size_t count) const {
    std::vector<at::Tensor> made;
    for (std::size_t i = count; i < parameters_.all().size(); ++i) made.push_back(parameters_.all()[i].value);
    return made;
}

runtime::Operation Maker::operation(const SlotPlace& place, Phase phase, const MakeRequest&) {
    return plan_.find(place.slot, phase, place.layers, place.layer ? &*place.layer : nullptr);
}

std::unique_ptr<Model> make_model(const config::Config& config, const BoundPlan& plan, Parameters& parameters,
                                  std::vector<Linear>* linears) {
    Maker maker(config, plan, parameters);
    auto model = make_model(maker);
    if (linears != nullptr) *linears = std::move(maker).linears();
    return model;
}

}  // namespace switchyard::model
