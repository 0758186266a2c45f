// The ranks of a training as those that compute together: sums and texts over all of them. What stands behind
// it is LibTorch's c10d (c10d.h); nothing here knows that.
//
// All ranks call the same operations in the same order. One that does not answer within the timeout, or is
// gone, is told by RankLost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/distributed/communication.h"
#include "core/workbench/distributed/store.h"
#include "core/workbench/distributed/together.h"

namespace switchyard::distributed {

// Sums gradients up over the ranks, in buckets, each as soon as backward has made all gradients in it. It is
// tied to the parameters by hooks for as long as it lives.
class GradientSum {
public:
    virtual ~GradientSum() = default;
    // Before a backward whose gradients are the step's last: those of backwards that it did not stand before
    // stay on their rank until then, and are part of the sum.
    virtual void begin() = 0;
    // After that backward: every parameter's gradient is the sum. Throws std::runtime_error naming parameters
    // that got none.
    virtual void end() = 0;
    // Whether what backward threw came of another rank.
    virtual bool failed() const = 0;
    // Of the last backward. nullopt: its device's queue hides when sums begin and end.
    virtual std::optional<BackwardTrace> trace() const { return std::nullopt; }
};

// What to say of parameters, by name, that a backward made no gradient of.
std::string without_gradient(const std::vector<std::string>& names);

// A collective operation that was begun. Its tensors must stay as they are until it is done.
class Transfer {
public:
    virtual ~Transfer() = default;
    virtual void wait() = 0;
};

struct SummedParameter {
    std::string name;
    at::Tensor value;  // a leaf that requires a gradient
};

struct SumOptions {
    double bucket_mb = 25.0;
    bool as_bfloat16 = false;  // gradients are rounded to it on their way
};

class Group {
public:
    virtual ~Group() = default;
    virtual Place place() const = 0;
    std::int64_t rank() const { return place().rank; }
    std::int64_t world_size() const { return place().world_size; }
    // The one that all ranks have, whoever is in this group.
    virtual Store& store() = 0;
    // Some of the ranks as ranks among themselves, in this order. Called on these, all with the same `name`,
    // which no other call has.
    virtual std::unique_ptr<Group> among(const std::vector<std::int64_t>& ranks, const std::string& name) = 0;

    // In place, of tensors on the device that the ranks compute on.
    virtual void sum(at::Tensor& tensor) = 0;
    virtual void broadcast(at::Tensor& tensor, std::int64_t from) = 0;
    // The tensors of all ranks, in the order of ranks; all of one shape.
    virtual std::vector<at::Tensor> gather(const at::Tensor& tensor) = 0;
    // Vectors of which each rank has a piece of its own: `all` are the pieces end to end, of `sizes` values
    // each in the order of ranks. The first makes `all` of what ranks have as `own`; the second sums `all` up
    // over the ranks, uses it up, and makes `own` the rank's piece of the sum.
    virtual std::unique_ptr<Transfer> gather_pieces(const at::Tensor& own, const at::Tensor& all,
                                                    const std::vector<std::int64_t>& sizes) = 0;
    virtual std::unique_ptr<Transfer> sum_pieces(const at::Tensor& all, const at::Tensor& own,
                                                 const std::vector<std::int64_t>& sizes) = 0;
    // What one rank sends another one receives, in the order of sending.
    virtual void send(const at::Tensor& tensor, std::int64_t to) = 0;
    virtual void receive(at::Tensor& tensor, std::int64_t from) = 0;
    // The same, only begun: it goes on while the rank computes.
    virtual std::unique_ptr<Transfer> begin_send(const at::Tensor& tensor, std::int64_t to) = 0;
    // Parameters are in the order in which forward uses them.
    virtual std::unique_ptr<GradientSum> sum_gradients(const std::vector<SummedParameter>& parameters,
                                                       const SumOptions& options) = 0;
};

}  // namespace switchyard::distributed
