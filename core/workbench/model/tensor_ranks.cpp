#include "core/workbench/model/tensor_ranks.h"

#include "core/kernel/runtime/own_gradient.h"

namespace switchyard::model {
namespace {

at::Tensor same(const at::Tensor& x) { return x; }

at::Tensor summed(const at::Tensor& x, TensorRanks* ranks) {
    auto sum = x.clone(at::MemoryFormat::Contiguous);  // others may hold x
    ranks->sum(sum);
    return sum;
}

}  // namespace

at::Tensor into_parts(const at::Tensor& x, TensorRanks* ranks) {
    if (ranks == nullptr || !x.defined()) return x;
    return runtime::with_gradient("Switchyard[into parts]", x, same,
                                  [ranks](const at::Tensor& gradient) { return summed(gradient, ranks); });
}

at::Tensor out_of_parts(const at::Tensor& x, TensorRanks* ranks) {
    if (ranks == nullptr) return x;
    return runtime::with_gradient(
        "Switchyard[out of parts]", x, [ranks](const at::Tensor& own) { return summed(own, ranks); }, same);
}

at::Tensor columns_of_parts(const at::Tensor& x, const config::LayerPart& part, TensorRanks* ranks) {
    if (ranks == nullptr) return x;
    const auto columns = x.size(-1);
    return runtime::with_gradient(
        "Switchyard[columns of parts]", x, [ranks](const at::Tensor& own) { return ranks->joined(own); },
        [columns, begin = part.index * columns](const at::Tensor& gradient) {
            return gradient.narrow(-1, begin, columns).contiguous();
        });
}

}  // namespace switchyard::model
