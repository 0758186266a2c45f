// Between our parameters' names and those in Hugging Face's checkpoints.
//
// BERT (transformers, modeling_bert.py): "encoder.0.attention.q.weight" is "bert.encoder.layer.0.attention.self.query.weight". Files may leave the prefix
// "bert." out (a bare BertModel), and old ones call a norm's weight and bias gamma and beta.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <switchyard/config/model_config.h>

namespace switchyard::model {

// Their name of one of our parameters, as transformers writes it today; nullopt for one that they do not have.
std::optional<std::string> to_huggingface(config::ModelType type, std::string_view ours);

// Our name of one of theirs, in any of the spellings above; nullopt for what is no parameter of ours (buffers such as "embeddings.position_ids", tied copies).
std::optional<std::string> from_huggingface(config::ModelType type, std::string_view theirs);

}  // namespace switchyard::model
