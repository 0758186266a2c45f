// A small model of the fixtures with its weights, and rows of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/workbench/infer/whole_rows.h"
#include "core/workbench/model/weights/load_weights.h"
#include "tests/workbench/model/run_model.h"

#include <switchyard_test.h>

namespace switchyard::test {

// `more`: overrides after those of the model.
inline std::unique_ptr<Model> loaded_language_model(const std::string& name, const std::string& folder,
                                                    Layout layout,
                                                    const std::vector<std::string>& more = {}) {
    auto overrides = language_model(name);
    overrides.insert(overrides.end(), more.begin(), more.end());
    auto made = std::make_unique<Model>(configured("torch", layout, overrides));
    const auto loaded = model::load_weights(folder, made->config, made->parameters);
    REQUIRE(loaded.problems == std::vector<std::string>{});
    return made;
}

inline std::vector<std::int64_t> numbers_of(const at::Tensor& ids) {
    const auto values = ids.to(at::kLong).contiguous();
    return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
}

}  // namespace switchyard::test
