// Which listed cases stand for a request whose sizes do not matter much.
#include <switchyard/conformance/cases.h>

namespace switchyard::conformance {

bool is_alike(const OptimizerRequest& listed, const OptimizerRequest& asked) {
    return listed.algorithm == asked.algorithm && listed.custom == asked.custom &&
           listed.dtype == asked.dtype && listed.gradient_dtype == asked.gradient_dtype &&
           listed.master_weights == asked.master_weights && listed.clip <= asked.clip &&
           listed.unscale <= asked.unscale;
}

bool is_alike(const PrecisionRequest& listed, const PrecisionRequest& asked) {
    return listed.dtype == asked.dtype && listed.loss_scaling == asked.loss_scaling;
}

bool is_alike(const DataLoaderRequest& listed, const DataLoaderRequest& asked) {
    return listed.layout == asked.layout && listed.labels_per_token == asked.labels_per_token &&
           (listed.token_budget > 0) == (asked.token_budget > 0);
}

}  // namespace switchyard::conformance
