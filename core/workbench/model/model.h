// A model as training, evaluation and generation see it, whichever it is.
//
// Where labels stand: nothing is shifted inside a model. What a token is to predict is its label, at its own
// place:
//   bert  masked_lm: the word that was hidden there;  classes: one label a sequence or a token
//   gpt   causal_lm: labels[i] is the token after source.ids[i]
//   t5    seq2seq: source goes into the encoder; target.ids are the decoder's input, which starts with the
//         pad token and goes on with the answer without its last
//         token (teacher forcing); labels[i] is the token after target.ids[i]
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/batch.h>
#include <switchyard/interfaces/loss.h>
#include "core/kernel/config/config.h"
#include "core/workbench/model/builder.h"
#include "core/workbench/model/cache/decoding_cache.h"
#include "core/workbench/model/forward_context.h"

namespace switchyard::model {

// One batch through a model and its task's loss.
struct TaskResult {
    LossOutputs loss;
    at::Tensor logits;   // [rows, classes]; undefined where the loss projects by itself or they were given up
    at::Tensor targets;  // [rows], -100 where there is no label; of float labels [rows, classes], NaN there
};

// What is handed on from one stage of a pipeline to the next (pipeline_stage.h).
struct StageState {
    // Of the stack that goes on, [batch, seq, hidden] or [total, hidden]; undefined where the next begins
    // anew.
    at::Tensor hidden;
    at::Tensor memory;  // the result of an encoder that is done, for the decoder that is not
};

class Model {
public:
    virtual ~Model() = default;

    // The loss of the configured task. Rows without a label may be left out, from `logits` and `targets` too.
    TaskResult task(const ForwardContext& context, const Batch& batch, const LossParams& loss) const {
        return task_of(context, batch, run({}, context, batch).hidden, loss);
    }
    // Both halves of it: what this process has of embeddings and layers, and, where it has the last, the head
    // and the loss of its hidden states.
    virtual StageState run(const StageState& from, const ForwardContext& context,
                           const Batch& batch) const = 0;
    virtual TaskResult task_of(const ForwardContext& context, const Batch& batch, const at::Tensor& hidden,
                               const LossParams& loss) const = 0;
    // What `run` takes in of the stage before: tensors of the shapes, without values. None in the first.
    virtual StageState taken_in(Phase phase, const Batch& batch) const = 0;

    // The last hidden states of the stack that the head reads: [batch, seq, hidden], or [total, hidden] of a
    // packed batch.
    virtual at::Tensor hidden(const ForwardContext& context, const Batch& batch) const = 0;

    // [sequences, classes] or, for tasks with a label for each token, [tokens, classes] with all tokens of
    // output_side() in a row, padded places included.
    at::Tensor logits(const ForwardContext& context, const Batch& batch) const {
        return logits_of(context, batch, hidden(context, batch));
    }
    // The same of the last hidden states, on a process that has the head.
    virtual at::Tensor logits_of(const ForwardContext& context, const Batch& batch,
                                 const at::Tensor& hidden) const = 0;

    // Decoding with a cache, of models that generate; the others throw std::logic_error. The phases prefill
    // and decode are those of the plan, whatever the context's. Of one plan, cache and uncached logits
    // differ by rounding alone, but for a prompt shorter than model.prefix: its tokens see those that come
    // after them.
    //
    // make_cache: throws base::InputError with its size where the machine lacks the memory for it.
    virtual std::unique_ptr<DecodingCache> make_cache(const CacheLimits& limits) const;
    // Begins the cache's rows with a padded batch of prompts of any lengths. The logits of what may follow
    // the last token of each, [rows, vocab].
    virtual at::Tensor prefill(const ForwardContext& context, const Batch& batch, DecodingCache& cache) const;
    // Appends ids, int64 [rows, n], to the rows of a cache, for which `step` is what DecodingCache::extend
    // gave. The logits of what may follow each, [rows, n, vocab].
    virtual at::Tensor decode(const ForwardContext& context, const at::Tensor& ids,
                              const CachedStep& step) const;

    // The side of a batch that hidden states, logits and labels belong to: the target where the model has a
    // decoder beside its encoder.
    virtual const TokenBatch& output_side(const Batch& batch) const { return batch.source; }

protected:
    Model() = default;
    Model(const Model&) = default;
    Model& operator=(const Model&) = default;
};

// The model that the builder's configuration describes, with the head of its task. `builder` is not kept.
std::unique_ptr<Model> make_model(Builder& builder);

}  // namespace switchyard::model
