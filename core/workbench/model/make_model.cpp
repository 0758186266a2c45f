#include "core/workbench/model/model.h"

#include "core/workbench/model/bert.h"
#include "core/workbench/model/gpt.h"
#include "core/workbench/model/t5.h"

namespace switchyard::model {

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
