// Between our parameters and the tensors of Hugging Face's checkpoints (transformers,
// modeling_{bert,roberta,distilbert,gpt2,llama,t5}.py).
//
// Most are the same under another name: "encoder.0.attention.q.weight" is
// "bert.encoder.layer.0.attention.self.query.weight". Some are not:
//   GPT-2   its Conv1D keeps weights as [in, out]; q, k and v are one tensor, c_attn
//   RoBERTa  positions begin at 2, after that of padding: two rows that nothing reads come before ours
//   Llama, gated T5   our feed_forward.in is two of theirs: gate_proj and up_proj, wi_0 and wi_1
// Files may leave out the prefix of the model inside ("bert.", "roberta.", "transformer.", "model."), and old
// ones call a norm's weight and bias gamma and beta.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/model/weights/huggingface_family.h"

namespace switchyard::model {

// One tensor of a file: our parameters, or shares of their rows, one below the other.
struct TheirTensor {
    struct Part {
        std::string ours;
        int share = 0;  // the `share`-th of `shares` equal shares of the rows
        int shares = 1;
    };
    std::string name;  // as transformers writes it today
    bool transposed = false;
    int rows_before = 0;  // rows of the tensor that are no parameter's
    std::vector<Part> parts;
};

// What parameters of these names are in a file of that family, in their order. A parameter that the family
// does not have is there under our name.
std::vector<TheirTensor> their_tensors(Family family, const std::vector<std::string>& ours);

// The name that transformers writes today for one in any of the spellings above, if it is one of `known`;
// else the name itself.
std::string modern_name(Family family, std::string_view theirs, const std::vector<TheirTensor>& known);

}  // namespace switchyard::model
