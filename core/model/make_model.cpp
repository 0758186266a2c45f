#include <switchyard/model/model.h>

#include <switchyard/model/bert.h>
#include <switchyard/model/gpt.h>
#include <switchyard/model/t5.h>

namespace switchyard::model {

std::unique_ptr<Model> make_model(const config::Config& config, Parameters& parameters) {
    switch (config.model.type) {
        case config::ModelType::gpt:
            return std::make_unique<Gpt>(config, parameters);
        case config::ModelType::t5:
            return std::make_unique<T5>(config, parameters);
        default:
            return std::make_unique<Bert>(config, parameters);
    }
}

}  // namespace switchyard::model
