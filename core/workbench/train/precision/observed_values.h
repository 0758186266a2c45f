// What ran in which dtype, and how large its values were: one record for each layer, operation and pass, with
// one for each of its tensors.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/train/precision/inside_dtypes.h"
#include "core/workbench/train/precision/value_range.h"

namespace switchyard::train {

// parameter: what the model learns, and what optimizers keep of it;  gradient: of whatever;  state: the
// optimizer's own.
enum class TensorRole : std::uint8_t { parameter, input, output, gradient, state };

// "fp32", "bf16", "E4M3"; LibTorch's name for all that is no training format.
std::string short_name(at::ScalarType dtype);

struct TensorRecord {
    std::string name;  // "x", "weight"; in backward "grad x"
    TensorRole role;
    bool enters = false;  // goes into the call; else comes out of it
    std::set<std::string> dtypes;
    ValueRange values;
};

struct OperationRecord {
    std::string layer;      // "encoder.0.attention.q"; a parameter's name in steps
    std::string operation;  // "linear", "attention", "normalization", "activation", "loss", "optimizer"
    runtime::Pass pass = runtime::Pass::forward;
    std::string component;  // "amp/bf16"
    GradientMode gradient = GradientMode::none;
    std::uint64_t calls = 0;
    std::set<std::string>
        // dtypes in which LibTorch's operators computed within the call; empty: kernels of its own, or
        // autograd's backward
        inside;
    std::set<std::string>
        own;  // what the component says of its own kernels (computes_in_property); empty: nothing
    std::vector<TensorRecord> tensors;

    std::set<std::string> dtypes(bool enters, bool parameters) const;
    ValueRange values() const;  // of all tensors
    std::uint64_t not_finite() const;
};

class ObservedValues final : public runtime::CallObserver {
public:
    void observe(const runtime::ObservedCall& call) override;
    // The optimizer's state, once, after the last step.
    void add_state(const OptimizerState& state, const std::string& component);

    // In the order in which they first ran.
    const std::deque<OperationRecord>& records() const { return records_; }
    std::uint64_t not_finite() const;

private:
    OperationRecord& record(const std::string& layer, const std::string& call);
    static TensorRecord& tensor(OperationRecord& record, const std::string& name, TensorRole role,
                                bool enters);

    InsideDtypes inside_;
    std::mutex mutex_;
    std::deque<OperationRecord> records_;
    std::map<std::pair<std::string, std::string>, std::size_t> places_;
};

// Repeated layers as one record: "encoder.0.attention.q" ... "encoder.11.attention.q" become
// "encoder.0-11.attention.q" where dtypes and components are the same.
// Steps of the optimizer become one for all parameters.
std::vector<OperationRecord> folded(const std::deque<OperationRecord>& records);

}  // namespace switchyard::train
