// Weights as linear layers multiply them: cast to another dtype, and in the form that a component prepared,
// once a step and not once a call. And their input, cast once for those that read the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <switchyard/interfaces/linear.h>

namespace switchyard::runtime {

class StepWeights {
public:
    struct Weight {
        at::Tensor values;  // undefined where `prepared` replaces them, and of no parameter
        PreparedWeight prepared;
    };
    // Makes a component's form of a cast weight.
    using Prepare = std::function<PreparedWeight(const at::Tensor& weight)>;

    // `parameter` in that dtype, for `user` (the address of whatever calls with it). A cast serves while the
    // memory holds the same values, as its version counter tells, and until `forget`. A parameter made under
    // inference mode counts no versions: it is cast and prepared anew each time.
    Weight weight(const at::Tensor& parameter, at::ScalarType dtype, const void* user,
                  const Prepare& prepare);
    // The same of what is not prepared: a bias, which may be undefined.
    at::Tensor cast(const at::Tensor& parameter, at::ScalarType dtype);

    // What calls multiply, without grad mode. Queries, keys and values are projections of one x: while one of
    // them keeps its cast for backward, the others get the same.
    at::Tensor input(const at::Tensor& x, at::ScalarType dtype);

    // The form of a quantized weight for `user`, made once in all; its tensors are looked at only then.
    using PrepareQuantized = std::function<PreparedWeight(const QuantizedWeight& weight)>;
    Weight quantized(const std::shared_ptr<const QuantizedWeight>& weight, const void* user,
                     const PrepareQuantized& prepare);

    // Makes the form of a parameter that will not change any more. True where it replaces the weight: its
    // values are not read again then by this user, and may go.
    bool settle(const at::Tensor& parameter, at::ScalarType dtype, const void* user, const Prepare& prepare);

    // Bytes that a product with this parameter reads: of a form, or of a cast, or else of the parameter.
    std::int64_t read_bytes(const at::Tensor& parameter) const;
    // Bytes of the forms of quantized weights.
    std::int64_t quantized_bytes() const;

    // Forgets all of parameters that were not settled: they may change now in ways that no version counter
    // shows.
    void forget();
    // The same of one parameter, whose memory will go.
    void forget(const at::Tensor& parameter);

private:
    struct Held {
        at::Tensor source;  // keeps the memory from being somebody else's
        std::int64_t version = 0;
        at::ScalarType dtype = at::kFloat;
        Weight weight;
    };

    struct Lasting {
        std::shared_ptr<const void> source;  // keeps the object from being somebody else's
        Weight weight;
        bool quantized = false;  // a QuantizedWeight, and no parameter
    };
    using Key = std::pair<const void*, const void*>;
    using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    struct LastInput {
        WeakTensor x, cast;  // kept by others
        std::int64_t version = 0;
    };

    mutable std::mutex mutex_;
    std::map<Key, Held> held_;        // by memory and user
    std::map<Key, Lasting> lasting_;  // by tensor or quantized weight, and user
    std::optional<LastInput> last_input_;
};

}  // namespace switchyard::runtime
