// Texts as vectors: what an encoder makes of their tokens, pooled to one vector a text (Reimers and Gurevych
// 2019, arXiv:1908.10084).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/config/config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"

namespace switchyard::infer {

enum class Pooling : std::uint8_t {
    mean,   // over all tokens, those around the text too
    first,  // the first token, [CLS]
};

struct EmbedOptions {
    Pooling pooling = Pooling::mean;
    bool normalize = false;  // to length 1
};

struct Embedding {
    std::vector<float> values;  // [hidden_size]
    std::int64_t tokens = 0;    // that the model saw
    bool cut = false;           // the text has more, beyond batch.max_length
};

// Why the configured model cannot embed; empty: it can.
std::string embed_problem(const config::Config& config);
// Why it cannot embed this text; empty: it can.
std::string text_problem(const data::Tokenizer& tokenizer, const std::string& text);

// In the order of the texts, none of which has a problem. Uses the plan's phase eval, in batches of
// batch.size of texts of like length. Sums are formed in float64. `before` is called
// before each batch; what it throws ends the work.
std::vector<Embedding> embed(const config::Config& config, const model::BoundPlan& plan,
                             const model::Model& model, const data::Tokenizer& tokenizer,
                             const std::vector<std::string>& texts, const EmbedOptions& options,
                             const std::function<void()>& before = {});

}  // namespace switchyard::infer

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<infer::Pooling>{"mean", "first"};
}  // namespace switchyard
