#include "core/workbench/model/weights/huggingface_rotary.h"

#include <stdexcept>
#include <string>

namespace switchyard::model {
namespace {

using config::ModelConfig;
using config::RotaryScaling;
using Keys = HuggingFaceReader;
using nlohmann::ordered_json;

// rope_type is called "type" in older files; both may be there.
RotaryScaling scaling_of(const Keys& rope) {
    auto scaling = RotaryScaling::none;
    for (const char* key : {"type", "rope_type"}) {
        if (!rope.has(key)) continue;
        const auto type = rope.text(key, "");
        if (type != "default" && type != "linear" && type != "llama3")
            rope.refuse(
                key,
                "expected 'default', 'linear' or 'llama3': other scalings of rotary positions are not "
                "computed here");
        scaling = type == "default" ? RotaryScaling::none : *parse<RotaryScaling>(type);
    }
    return scaling;
}

double factor_of(const Keys& rope) {
    if (!rope.has("factor")) rope.refuse("factor", "expected a number from 1");
    const double factor = rope.number("factor", 1.0);
    if (factor < 1.0) rope.refuse("factor", "expected a number from 1");
    return factor;
}

void read_scaling(const Keys& rope, ModelConfig& model) {
    model.rotary_scaling = scaling_of(rope);
    if (model.rotary_scaling != RotaryScaling::none) model.rotary_factor = factor_of(rope);
    if (model.rotary_scaling == RotaryScaling::llama3) {
        for (const char* key : {"low_freq_factor", "high_freq_factor"}) {
            if (!rope.has(key) || rope.number(key, 0.0) <= 0.0) rope.refuse(key, "expected a number above 0");
        }
        model.rotary_low_freq_factor = rope.number("low_freq_factor", 1.0);
        model.rotary_high_freq_factor = rope.number("high_freq_factor", 4.0);
        if (model.rotary_low_freq_factor >= model.rotary_high_freq_factor)
            rope.refuse("high_freq_factor", "expected more than low_freq_factor");
        model.rotary_original_positions = rope.whole("original_max_position_embeddings");
    }
    rope.expect("partial_rotary_factor", 1.0);
    const auto others = rope.refuse_the_rest();
    if (!others.empty())
        throw std::invalid_argument(others.front() + ": not known of rotary positions of the type '" +
                                    rope.text("rope_type", rope.text("type", "default").c_str()) + "'");
}

}  // namespace

void read_rotary(const Keys& keys, ModelConfig& model) {
    constexpr double standard = 10000.0;
    model.rotary_theta = keys.number("rope_theta", standard);
    auto older = model;  // what the keys of transformers 4 say
    if (keys.has("rope_scaling")) read_scaling(keys.part("rope_scaling"), older);
    if (!keys.has("rope_parameters")) {
        model = older;
        return;
    }
    const auto rope = keys.part("rope_parameters");
    const double theta = rope.number("rope_theta", model.rotary_theta);
    if (keys.has("rope_theta") && model.rotary_theta != theta)
        keys.refuse("rope_theta", "expected what rope_parameters.rope_theta says");
    model.rotary_theta = older.rotary_theta = theta;
    read_scaling(rope, model);
    if (keys.has("rope_scaling") && !(model == older))
        throw std::invalid_argument(
            "rope_scaling: rope_parameters scales rotary positions in another way; keep the one of the two "
            "with "
            "which the model was trained");
}

ordered_json rotary_keys(const ModelConfig& model) {
    ordered_json scaling = nullptr;
    if (model.rotary_scaling != RotaryScaling::none)
        scaling = {{"rope_type", std::string(name(model.rotary_scaling))}, {"factor", model.rotary_factor}};
    if (model.rotary_scaling == RotaryScaling::llama3)
        scaling.update({{"low_freq_factor", model.rotary_low_freq_factor},
                        {"high_freq_factor", model.rotary_high_freq_factor},
                        {"original_max_position_embeddings", model.rotary_original_positions}});
    return {{"rope_theta", model.rotary_theta}, {"rope_scaling", scaling}};
}

}  // namespace switchyard::model
