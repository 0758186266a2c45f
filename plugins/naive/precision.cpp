#include "precision.h"

#include <switchyard/sdk/serves.h>

namespace switchyard {

Verdict NaivePrecision::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_device(verdict, request, host);
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype",
            "float32 (parameters as the model stores them)", name(request.dtype));
    REQUIRE(verdict, !request.loss_scaling, Code::Option, "loss_scaling",
            "false (float32 needs no loss scale)", "true");
    return verdict;
}

}  // namespace switchyard
