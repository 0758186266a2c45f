// One operation on one set of inputs, whatever its kind: what the bench asks of a backend, and what it does
// with it.
//
//     BenchCase   inputs of one shape and dtype, made from the seed; the same for all backends
//     Contender   a backend bound to it: called to be timed, weighed and checked
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/bench/bench_settings.h"

namespace switchyard::bench {

// What an operation has to do at the least: floating-point operations of its matrix products that the mask
// leaves (a multiplication and an addition are two; backward counts the products that it cannot do without),
// and bytes when every argument is read and every result is written once.
struct Work {
    double flops = 0.0;
    double bytes = 0.0;
    bool memory_bound = false;  // set against the bandwidth, not against the matrix products
    bool reads_only = false;    // of that: hardly anything is written, so it is the bandwidth of reading
};

// A result that is checked: an output, or the gradient of an input.
struct CheckedTensor {
    std::string name;  // "out", "grad q"
    at::Tensor value;
    bool gradient = false;
};
using CheckedTensors = std::vector<CheckedTensor>;

// What backward alone has to do, where `both` is for forward and backward.
inline Work without_forward(const Work& both, const Work& forward) {
    return {both.flops - forward.flops, both.bytes - forward.bytes, both.memory_bound, both.reads_only};
}

class Contender {
public:
    virtual ~Contender() = default;

    // What is timed: one call, its results dropped.
    virtual void run() = 0;
    // One call for the check: the part of its results that BenchCase::reference has, in the same order.
    // `dropout` is off for a component that draws its own random numbers, whose results no reference can
    // foretell.
    virtual CheckedTensors results(bool dropout) = 0;
    virtual const runtime::BindingBase& binding() const = 0;
    // Bytes that the backend keeps from call to call, each read and written by every call: the state of an
    // optimizer, in the form that it has. Work::bytes leaves them out.
    virtual std::int64_t state_bytes() { return 0; }
    // Bytes of Work::bytes that its calls do not read, where it has a smaller form of an argument: a weight
    // in 8 bits. Negative where the form is larger.
    virtual std::int64_t spared_bytes() { return 0; }
};

class BenchCase {
public:
    virtual ~BenchCase() = default;

    // What is asked of a backend; `config` names none yet.
    virtual resolver::SlotUse use(Pass pass) const = 0;
    virtual Work work(Pass pass) const = 0;
    // Throws what binding throws ("core/kernel/runtime/operations/bind.h"). `host` must outlive the
    // contender, and so must this case.
    virtual std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                            const HostInfo& host, Pass pass) = 0;
    // The same through core/reference with inputs and arithmetic of `dtype` (float64: the oracle), for the
    // part that is checked: all of it, or for large inputs a part that costs little. Parameters that have a
    // dtype of their own keep it unless `dtype` is wider.
    virtual CheckedTensors reference(Pass pass, DType dtype, bool dropout) = 0;
    // False where even the smallest part would take too much time or memory.
    virtual bool checkable() const { return true; }
    // What part that is, for people: "" for all of it.
    virtual std::string checked_part() const { return ""; }
    // The same work as a plain call of LibTorch, nothing of ours around it; empty where LibTorch has no such
    // operation.
    virtual std::function<void()> bare(Pass /*pass*/) { return {}; }
};

// Throws std::invalid_argument, std::bad_alloc or c10::Error if the inputs cannot be made.
std::unique_ptr<BenchCase> make_case(const BenchSettings& settings, const BenchShape& shape, DType dtype);

// By kind, for make_case.
std::unique_ptr<BenchCase> case_of(KindTraits<Kind::attention>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype);
std::unique_ptr<BenchCase> case_of(KindTraits<Kind::normalization>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype);
std::unique_ptr<BenchCase> case_of(KindTraits<Kind::activation>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype);
std::unique_ptr<BenchCase> case_of(KindTraits<Kind::loss>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype);
std::unique_ptr<BenchCase> case_of(KindTraits<Kind::optimizer>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype);
std::unique_ptr<BenchCase> case_of(KindTraits<Kind::linear>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype);

}  // namespace switchyard::bench
