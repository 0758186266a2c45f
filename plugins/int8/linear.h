// Linear layers with weights in 8 and 4 bits, for everything but training (fake_quantized.h is for that). A
// dense weight is quantized when it is prepared; one that was stored quantized is put in order.
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

// x in 8 bits with a scale for each row.
class DynamicInt8 : public Linear {
public:
    explicit DynamicInt8(const CreateInfo& info);
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    PreparedWeight prepare(const at::Tensor& weight_OI, bool for_gradient) override;
    PreparedWeight prepare_quantized(const QuantizedWeight& weight) override;
    void* query(std::string_view id) override;

private:
    std::string form_;
    std::int64_t group_;
};

// x in 8 bits with the scale that calibration found for the layer: of stored weights alone.
class StaticInt8 final : public DynamicInt8 {
public:
    using DynamicInt8::DynamicInt8;
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);
};

// x as it comes.
class WeightOnly : public Linear {
public:
    WeightOnly(const CreateInfo& info, std::int64_t bits);

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    PreparedWeight prepare(const at::Tensor& weight_OI, bool for_gradient) override;
    PreparedWeight prepare_quantized(const QuantizedWeight& weight) override;
    void* query(std::string_view id) override;

private:
    std::int64_t bits_, group_;
    bool zero_points_;
    std::string form_;
};

class WeightInt8 final : public WeightOnly {
public:
    explicit WeightInt8(const CreateInfo& info) : WeightOnly(info, 8) {}
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);
};

class WeightInt4 final : public WeightOnly {
public:
    explicit WeightInt4(const CreateInfo& info) : WeightOnly(info, 4) {}
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);
};

}  // namespace switchyard
