// The host's part of an optimizer's step on a device (device_optimizer.h): the list of its tensors, sent only
// where it has changed, and what stays there from step to step. LibTorch on one side, no CUDA header on the
// other: streams and launches are the caller's, so the same code runs with emulated kernels. Since 1.0.
//
//     class StepOnDevice : public device::StepWithMoments<MyMoments> ...
//     auto begun = begin(groups, params, queue, describe, launch_norm);
//     launch_step(begun.call, optimizer_launch(begun.call.table.piece_count, queue, shared_bytes),
//       queue.stream);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cuda/device_optimizer_table.h>
#include <switchyard/sdk/cuda/queue.h>
#include <switchyard/sdk/optimizer_sweep.h>

namespace switchyard::device {

// Bytes on the device, sent again only where they differ from the last ones. A graph that is being captured
// gets a copy of its own, memory of the host included, for it will copy again whenever it runs.
class SentBytes {
public:
    const unsigned char* send(const std::vector<unsigned char>& bytes, at::Device where, const Queue& queue) {
        if (!queue.capturing && there_.defined() && bytes == sent_)
            return there_.const_data_ptr<std::uint8_t>();
        const auto size = static_cast<std::int64_t>(bytes.size());
        const at::Tensor here =
            at::empty({size}, at::TensorOptions().dtype(at::kByte).pinned_memory(queue.pins));
        if (!bytes.empty()) std::memcpy(here.mutable_data_ptr(), bytes.data(), bytes.size());
        at::Tensor there = at::empty({size}, at::TensorOptions().dtype(at::kByte).device(where));
        const auto* const address = there.const_data_ptr<std::uint8_t>();
        if (queue.capturing) {
            queue.copy(there.mutable_data_ptr(), here.const_data_ptr(), bytes.size(), queue.stream);
            captured_.emplace_back(here, there);
            return address;
        }
        there.copy_(here, /*non_blocking=*/true);
        there_ = std::move(there);
        sent_ = bytes;
        return address;
    }

private:
    std::vector<unsigned char> sent_;
    at::Tensor there_;
    std::vector<std::pair<at::Tensor, at::Tensor>> captured_;
};

inline Storage storage_of(const char* who, const at::Tensor& tensor, const std::string& name) {
    if (tensor.scalar_type() == at::kFloat) return Storage::float32;
    if (tensor.scalar_type() == at::kBFloat16) return Storage::bf16;
    if (tensor.scalar_type() == at::kHalf) return Storage::fp16;
    refuse_optimizer(who, "'", name, "' is of dtype ", tensor.scalar_type(),
                     ", expected float32, bfloat16 or float16 on cuda");
}

inline bool begins_aligned(std::initializer_list<const void*> places) {
    std::uintptr_t all = 0;
    for (const void* place : places) all |= reinterpret_cast<std::uintptr_t>(place);
    return all % 16 == 0;
}

// Everything but moments and rule, which are the plugin's.
inline TensorOfStep tensor_on_device(const char* who, const StepTensor& from, at::Device where) {
    const Parameter& parameter = *from.parameter;
    for (const auto& [tensor, what] : {std::pair{&parameter.value, "the value"},
                                       {&from.gradient, "the gradient"},
                                       {&parameter.master, "the master weight"}}) {
        if (tensor->defined() && tensor->device() != where)
            refuse_optimizer(who, what, " of '", parameter.name, "' is on ", tensor->device(), ", expected ",
                             where);
    }
    TensorOfStep to;
    to.value = from.value_data;
    to.master = from.master_data;
    to.gradient = from.gradient_data;
    to.count = from.count;
    to.index = static_cast<std::uint32_t>(from.index);
    to.value_type = storage_of(who, parameter.value, parameter.name);
    to.gradient_type = storage_of(who, from.gradient, parameter.name);
    return to;
}

struct BegunOnDevice {
    StepCall call;
    StepResult result;
    std::vector<StepTensor> tensors;  // whose gradients the launches read
    std::vector<TensorOfStep> on_device;
};

// 8 blocks of 256 threads are all that a multiprocessor holds; blocks walk over the pieces.
inline Launch optimizer_launch(std::int64_t pieces, const Queue& queue, std::size_t shared_bytes) {
    const std::int64_t most = 8 * static_cast<std::int64_t>(queue.multiprocessors);
    return {std::clamp<std::int64_t>(pieces, 1, most), optimizer_threads, shared_bytes};
}

class OptimizerOnDevice {
public:
    void bind(const char* who, const std::vector<ParameterGroup>& groups) {
        where_ = groups.front().parameters.front().value.device();
        for (const auto& group : groups) {
            for (const auto& parameter : group.parameters) {
                if (parameter.value.device() != where_) {
                    refuse_optimizer(who, "'", parameter.name, "' is on ", parameter.value.device(),
                                     ", the first parameter on ", where_);
                }
            }
        }
        const auto words = static_cast<std::int64_t>(sizeof(StepMemory) / sizeof(std::int64_t));
        memory_ = at::zeros({words}, at::TensorOptions().dtype(at::kLong).device(where_));
    }
    at::Device where() const { return where_; }
    // Waits for the device.
    std::int64_t step() const { return memory_.defined() ? memory_.select(0, 0).item<std::int64_t>() : 0; }
    void set_step(std::int64_t step) { memory_.zero_().select(0, 0).fill_(step); }

    // describe(StepTensor, TensorOfStep&) adds moments and rule. launch_norm(NormCall, Launch, stream).
    template <class Describe, class LaunchNorm>
    BegunOnDevice begin(const char* who, const std::vector<ParameterGroup>& groups, const StepParams& params,
                        bool unscales, const Queue& queue, const Describe& describe,
                        const LaunchNorm& launch_norm) {
        BegunOnDevice begun;
        begun.tensors = tensors_of_step(who, groups);
        for (const StepTensor& tensor : begun.tensors) {
            TensorOfStep to = tensor_on_device(who, tensor, where_);
            to.group = group_of(groups, tensor);
            describe(tensor, to);
            to.aligned = begins_aligned({to.value, to.master, to.gradient, to.first, to.second});
            begun.on_device.push_back(to);
        }
        std::int64_t pieces = 0;
        for (TensorOfStep& tensor : begun.on_device) {
            tensor.first_piece = pieces;
            pieces += (tensor.count + step_piece - 1) / step_piece;
        }
        StepCall& call = begun.call;
        call.table = send(groups, begun.on_device, queue);
        call.memory = reinterpret_cast<StepMemory*>(memory_.mutable_data_ptr());
        call.grad_scale = scalar(params.grad_scale_tensor, params.grad_scale);
        call.lr_factor = scalar(params.lr_factor_tensor, 1.0);
        const bool unscale = unscales || params.grad_scale != 1.0 || params.grad_scale_tensor.defined();
        call.looked = unscale || params.max_grad_norm > 0.0;
        if (!call.looked) return begun;

        const auto floats = at::TensorOptions().dtype(at::kFloat).device(where_);
        begun.result.grad_norm = at::empty({}, floats);
        if (unscale) begun.result.found_inf = at::empty({}, floats);
        const at::Tensor sums =
            at::empty({std::max<std::int64_t>(call.table.piece_count, 1)}, floats.dtype(at::kDouble));
        NormCall norm{call.table,
                      call.memory,
                      sums.mutable_data_ptr<double>(),
                      call.grad_scale,
                      params.max_grad_norm,
                      begun.result.grad_norm.mutable_data_ptr<float>(),
                      unscale ? begun.result.found_inf.mutable_data_ptr<float>() : nullptr};
        launch_norm(norm, optimizer_launch(call.table.piece_count, queue, 256), queue.stream);
        return begun;
    }

private:
    static std::int32_t group_of(const std::vector<ParameterGroup>& groups, const StepTensor& tensor) {
        std::int32_t number = 0;
        while (&groups[static_cast<std::size_t>(number)].hyper != tensor.hyper) ++number;
        return number;
    }

    Scalar scalar(const at::Tensor& tensor, double number) const {
        if (!tensor.defined()) return {nullptr, number};
        if (tensor.device() == where_ && tensor.scalar_type() == at::kFloat)
            return {tensor.const_data_ptr<float>(), number};
        return {nullptr, tensor.item<double>()};
    }

    template <class T>
    static std::vector<unsigned char> bytes_of_all(const std::vector<T>& values) {
        const auto* const begin = reinterpret_cast<const unsigned char*>(values.data());
        return {begin, begin + values.size() * sizeof(T)};
    }

    StepTable send(const std::vector<ParameterGroup>& groups, const std::vector<TensorOfStep>& tensors,
                   const Queue& queue) {
        std::vector<PieceOfStep> pieces;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            for (std::int64_t begin = 0; begin < tensors[i].count; begin += step_piece)
                pieces.push_back(
                    {static_cast<std::int32_t>(i), static_cast<std::int32_t>(begin / step_piece)});
        }
        std::vector<GroupOfStep> hypers;
        for (const auto& group : groups) {
            const HyperParameters& h = group.hyper;
            hypers.push_back({h.lr, h.beta1, h.beta2, h.eps, h.weight_decay, h.momentum, h.nesterov ? 1 : 0});
        }
        std::vector<unsigned char> list = bytes_of_all(tensors);
        const std::size_t pieces_at = list.size();
        const auto more = bytes_of_all(pieces);
        list.insert(list.end(), more.begin(), more.end());
        const unsigned char* const at = list_.send(list, where_, queue);
        StepTable table;
        table.tensors = reinterpret_cast<const TensorOfStep*>(at);
        table.pieces = reinterpret_cast<const PieceOfStep*>(at + pieces_at);
        table.groups =
            reinterpret_cast<const GroupOfStep*>(groups_.send(bytes_of_all(hypers), where_, queue));
        table.tensor_count = static_cast<std::int64_t>(tensors.size());
        table.piece_count = static_cast<std::int64_t>(pieces.size());
        return table;
    }

    at::Device where_ = at::kCPU;
    at::Tensor memory_;  // a StepMemory
    SentBytes list_, groups_;
};

// A step with the moments of a plugin's own kind: what is no matter of launches. Moments: bind, state and
// load as Optimizer's. Used from one thread at a time, like the component that has it.
template <class Moments>
class StepWithMoments {
public:
    void bind(const std::vector<ParameterGroup>& groups) {
        moments_.bind(groups);
        on_device_.bind(who_, groups);
    }
    OptimizerState state() const {
        OptimizerState state = moments_.state();
        state.step = on_device_.step();
        return state;
    }
    void load(const OptimizerState& state) {
        moments_.load(state);
        on_device_.set_step(state.step);
    }
    const char* who() const { return who_; }
    at::Device where() const { return on_device_.where(); }

protected:
    StepWithMoments(const char* who, const OptimizerRequest& request, Moments moments)
        : algorithm_(request.algorithm), moments_(std::move(moments)), who_(who), unscale_(request.unscale) {}

    template <class Describe, class LaunchNorm>
    BegunOnDevice begin(const std::vector<ParameterGroup>& groups, const StepParams& params,
                        const Queue& queue, const Describe& describe, const LaunchNorm& launch_norm) {
        return on_device_.begin(who_, groups, params, unscale_, queue, describe, launch_norm);
    }

    OptimizerKind algorithm_;
    Moments moments_;

private:
    const char* who_;
    bool unscale_;
    OptimizerOnDevice on_device_;
};

inline void* place_of(const at::Tensor& moment) {
    return moment.defined() ? moment.mutable_data_ptr() : nullptr;
}

}  // namespace switchyard::device
