#include <switchyard/model/model.h>

#include <switchyard/model/bert.h>
#include <switchyard/model/gpt.h>
#include <switchyard/model/t5.h>

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
