#include "patient_fp16.h"

#include <switchyard/sdk/name_pattern.h>
#include <switchyard/sdk/serves.h>

using namespace switchyard;

PatientFp16::PatientFp16(const CreateInfo& info)
    : Precision(info),
      keep_(info.options.list("keep")),
      attention_(info.options.string("attention") == "float16" ? DType::float16 : DType::float32) {
    if (KindTraits<Kind::precision>::request(*info.request).loss_scaling) scale_.emplace(info.options);
}

Verdict PatientFp16::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_device(verdict, request, host);
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype",
            "float32 (parameters as the model stores them)", name(request.dtype));
    const DeviceInfo* const device = host.first(request.device);
    if (request.device == Device::cuda && device != nullptr)
        REQUIRE(verdict, device->compute_capability >= 70, Code::Device, "compute_capability",
                "70 or more for float16", device->compute_capability);
    return verdict;
}

DType PatientFp16::storage(OpClass, const std::string&) const { return DType::float32; }

DType PatientFp16::compute(OpClass op, const std::string& layer) const {
    if (matches_any(keep_, layer)) return DType::float32;
    switch (op) {
        case OpClass::linear:
        case OpClass::activation:
        case OpClass::loss:
            return DType::float16;
        case OpClass::attention:
            return attention_;
        default:
            return DType::float32;
    }
}

double PatientFp16::loss_scale() const { return scale_ ? scale_->value() : 1.0; }

void PatientFp16::update(bool found_inf) {
    if (scale_) scale_->update(found_inf);
}

PrecisionState PatientFp16::state() const { return scale_ ? scale_->state() : PrecisionState{}; }

void PatientFp16::load(const PrecisionState& state) {
    if (scale_) scale_->load(state);
}
