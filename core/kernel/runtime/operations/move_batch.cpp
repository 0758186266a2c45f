#include "core/kernel/runtime/operations/move_batch.h"

namespace switchyard::runtime {
namespace {

void move(at::Tensor& tensor, c10::DeviceType device) {
    if (tensor.defined()) tensor = tensor.to(device, tensor.scalar_type(), tensor.is_pinned());
}

}  // namespace

void move_batch(Batch& batch, c10::DeviceType device) {
    for (TokenBatch* side : {&batch.source, &batch.target}) {
        for (at::Tensor* tensor : {&side->ids, &side->token_type_ids, &side->tokens.lengths,
                                   &side->tokens.cu_seqlens, &side->tokens.positions})
            move(*tensor, device);
    }
    move(batch.labels, device);
    move(batch.float_labels, device);
}

}  // namespace switchyard::runtime
