#include "core/workbench/model/weights/huggingface_family.h"

#include <algorithm>
#include <array>
#include <utility>

namespace switchyard::model {
namespace {

using config::ModelConfig;
using config::ModelType;
using config::NormPosition;
using config::Positions;

using Names = std::array<std::pair<ActivationKind, std::string_view>, 4>;
constexpr Names plain{{{ActivationKind::gelu_erf, "gelu"},
                       {ActivationKind::gelu_tanh, "gelu_new"},
                       {ActivationKind::relu, "relu"},
                       {ActivationKind::silu, "silu"}}};
constexpr Names gates{{{ActivationKind::geglu_erf, "gelu"},
                       {ActivationKind::geglu_tanh, "gelu_new"},
                       {ActivationKind::reglu, "relu"},
                       {ActivationKind::swiglu, "silu"}}};
// Of T5's feed_forward_proj, where "gated-gelu" stands for the tanh form.
constexpr std::array<std::pair<ActivationKind, std::string_view>, 3> t5_gates{
    {{ActivationKind::geglu_tanh, "gated-gelu"},
     {ActivationKind::reglu, "gated-relu"},
     {ActivationKind::swiglu, "gated-silu"}}};

template <class List>
std::string_view find(const List& list, ActivationKind activation) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& pair) { return pair.first == activation; });
    return found == list.end() ? std::string_view() : found->second;
}

bool plain_heads(const ModelConfig& m) {
    return m.kv_heads == m.heads && m.heads * m.head_dim == m.hidden_size;
}

// Learned positions, LayerNorm, biases everywhere: BERT and GPT-2.
bool older(const ModelConfig& m, NormPosition position) {
    return m.norm == NormKind::layer_norm && m.norm_position == position &&
           m.positions == Positions::learned && m.bias && plain_heads(m);
}

bool newer(const ModelConfig& m, Positions positions) {
    return m.norm == NormKind::rms_norm && m.norm_position == NormPosition::pre && m.positions == positions &&
           !m.bias;
}

bool is_bert(const ModelConfig& m, std::int64_t segments, config::Pooler pooler) {
    return m.type == ModelType::bert && older(m, NormPosition::post) && m.segments == segments &&
           m.pooler == pooler;
}

bool is(const ModelConfig& m, Family family) {
    if (huggingface_activation(family, m.activation).empty()) return false;
    switch (family) {
        case Family::bert:
            return is_bert(m, 2, config::Pooler::tanh);
        case Family::roberta:
            return is_bert(m, 1, config::Pooler::tanh);
        case Family::distilbert:
            return is_bert(m, 0, config::Pooler::relu) && m.norm_eps == 1e-12;  // which it cannot say
        case Family::gpt2:
            return m.type == ModelType::gpt && older(m, NormPosition::pre);
        case Family::llama:
            return m.type == ModelType::gpt && newer(m, Positions::rotary);
        default:
            return m.type == ModelType::t5 && newer(m, Positions::t5) && m.kv_heads == m.heads;
    }
}

}  // namespace

std::string_view model_type_of(Family family) {
    constexpr std::array<std::string_view, 8> types{"bert",  "roberta", "distilbert", "gpt2",
                                                    "llama", "t5",      "t5",         "switchyard"};
    return types.at(static_cast<std::size_t>(family));
}

std::string_view huggingface_activation(Family family, ActivationKind activation) {
    if (family == Family::llama) return find(gates, activation);
    return family == Family::t5_gated ? find(t5_gates, activation) : find(plain, activation);
}

Family family_of(const ModelConfig& m) {
    if (m.window > 0 || m.prefix > 0 || m.soft_cap > 0.0) return Family::own;
    for (const Family family : {Family::bert, Family::roberta, Family::distilbert, Family::gpt2,
                                Family::llama, Family::t5, Family::t5_gated}) {
        if (is(m, family)) return family;
    }
    return Family::own;
}

Family family_of(const config::Config& config) {
    const auto family = family_of(config.model);
    for (const auto& id : config.layer_ids()) {
        if (family_of(config.layer(id).model) != family) return Family::own;
    }
    const bool pairs = config.task.kind == config::TaskKind::next_sentence;
    if (pairs && (family == Family::roberta || family == Family::distilbert)) return Family::own;
    return family;
}

}  // namespace switchyard::model
