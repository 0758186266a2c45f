#include "core/workbench/model/norm_slots.h"

namespace switchyard::model {
namespace {

NormalizationRequest plain(const Requests& requests, Phase phase, const NormPlace& place) {
    auto r = requests.make<NormalizationRequest>(OpClass::normalization, place.layers, phase, place.config);
    r.norm = place.model.norm;
    r.rows = requests.rows(phase);
    r.width = place.model.hidden_size;
    r.parameter_dtype = requests.storage(OpClass::normalization, place.layers);
    r.affine_bias = place.model.norm == NormKind::layer_norm && place.model.bias;
    return r;
}

template <class Change>
Slot<runtime::NormalizationOp> slot(Builder& builder, const NormPlace& place, const Change& change) {
    return builder.slot<runtime::NormalizationOp>(
        {Kind::normalization, place.slot, place.layers, place.config, place.layer},
        [&](const Requests& requests, Phase phase) {
            auto r = plain(requests, phase, place);
            if (place.between_blocks && builder.shares_tokens()) {
                const auto parts = builder.part().parts;
                r.rows = Range(r.rows.min / parts, (r.rows.max + parts - 1) / parts);
            }
            change(r);
            return r;
        });
}

}  // namespace

Slot<runtime::NormalizationOp> plain_norm(Builder& builder, const NormPlace& place) {
    return slot(builder, place, [](NormalizationRequest&) {});
}

Slot<runtime::NormalizationOp> head_norm(Builder& builder, const NormPlace& place) {
    return slot(builder, place, [](NormalizationRequest& r) { r.rows.min = 0; });
}

Slot<runtime::NormalizationOp> wide_norm(Builder& builder, const NormPlace& place) {
    return slot(builder, place, [&](NormalizationRequest& r) {
        r.residual = true;
        // Dropout counts a sequence's tokens from its first, which may be another rank's.
        if (place.between_blocks && builder.shares_tokens()) return;
        r.input_bias = place.model.bias;
        r.dropout = r.phase == Phase::train ? place.model.dropout : 0.0;
    });
}

}  // namespace switchyard::model
