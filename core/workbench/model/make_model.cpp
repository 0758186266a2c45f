#include "core/workbench/model/model.h"

#include <stdexcept>

#include "core/workbench/model/bert.h"
#include "core/workbench/model/gpt.h"
#include "core/workbench/model/t5.h"

namespace switchyard::model {
namespace {

[[noreturn]] void refuse_to_decode() { throw std::logic_error("this model does not generate"); }

}  // namespace

std::unique_ptr<DecodingCache> Model::make_cache(const CacheLimits&) const { refuse_to_decode(); }

at::Tensor Model::prefill(const ForwardContext&, const Batch&, DecodingCache&) const { refuse_to_decode(); }

at::Tensor Model::decode(const ForwardContext&, const at::Tensor&, const CachedStep&) const {
    refuse_to_decode();
}

std::unique_ptr<Model> make_model(Builder& builder) {
    switch (builder.config().model.type) {
        case config::ModelType::gpt:
            return std::make_unique<Gpt>(builder);
        case config::ModelType::t5:
            return std::make_unique<T5>(builder);
        default:
            return std::make_unique<Bert>(builder);
    }
}

}  // namespace switchyard::model
