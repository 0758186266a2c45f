#include "step_on_device.h"

#include <algorithm>
#include <cstring>

#include "dynamic_codes.h"

namespace switchyard::optim8bit_cuda {
namespace {

const OptimizerRequest& request_of(const CreateInfo& info) {
    return *static_cast<const OptimizerRequest*>(info.request);
}

BookOnDevice book_of(const optim8bit::CodeBook& codes, const optim8bit::CodeFinder& finder) {
    BookOnDevice book{};
    std::copy(codes.begin(), codes.end(), book.code);
    std::copy(finder.threshold.begin(), finder.threshold.end(), book.threshold);
    std::copy(finder.slope.begin(), finder.slope.end(), book.slope);
    std::copy(finder.offset.begin(), finder.offset.end(), book.offset);
    std::copy(finder.last.begin(), finder.last.end(), book.last);
    std::copy(finder.below.begin(), finder.below.end(), book.below);
    return book;
}

at::Tensor books_on(at::Device device) {
    const Books books{book_of(optim8bit::signed_codes(), optim8bit::signed_finder()),
                      book_of(optim8bit::unsigned_codes(), optim8bit::unsigned_finder())};
    const at::Tensor here = at::empty({static_cast<std::int64_t>(sizeof(books))}, at::dtype(at::kByte));
    std::memcpy(here.mutable_data_ptr(), &books, sizeof(books));
    return here.to(device);
}

void* place(const at::Tensor& tensor) { return tensor.defined() ? tensor.mutable_data_ptr() : nullptr; }
float* scales(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}

}  // namespace

StepOnDevice::StepOnDevice(const CreateInfo& info)
    : algorithm_(request_of(info).algorithm),
      unscale_(request_of(info).unscale),
      moments_(algorithm_, {info.options.integer("min_8bit_size"), info.options.list("keep_32bit")}) {
    codes_.by_chance = info.options.boolean("stochastic_rounding");
    codes_.seed = static_cast<std::uint64_t>(info.options.integer("seed"));
}

void StepOnDevice::bind(const std::vector<ParameterGroup>& groups) {
    moments_.bind(groups);
    on_device_.bind("optim8bit", groups);
    books_ = books_on(on_device_.where());
    codes_.books = static_cast<const Books*>(books_.const_data_ptr());
}

OptimizerState StepOnDevice::state() const {
    OptimizerState state = moments_.state();
    state.step = on_device_.step();
    return state;
}

void StepOnDevice::load(const OptimizerState& state) {
    moments_.load(state);
    on_device_.set_step(state.step);
}

void StepOnDevice::describe(const StepTensor& from, device::TensorOfStep& to) {
    const auto& own = moments_[from.index];
    const bool adamw = algorithm_ == OptimizerKind::adamw;
    const Rule rule = own.wide ? adamw ? Rule::adamw_floats : Rule::lion_floats
                      : adamw  ? Rule::adamw_codes
                               : Rule::lion_codes;
    to.rule = static_cast<std::uint8_t>(rule);
    to.first = place(own.first.values);
    to.second = place(own.second.values);
    to.first_scale = scales(own.first.largest);
    to.second_scale = scales(own.second.largest);
}

StepResult StepOnDevice::step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                              const device::Queue& queue) {
    const auto begun = on_device_.begin(
        "optim8bit", groups, params, unscale_, queue,
        [&](const StepTensor& from, device::TensorOfStep& to) { describe(from, to); }, launch_norm);
    launch_step(begun.call, codes_,
                device::optimizer_launch(begun.call.table.piece_count, queue, step_shared_bytes),
                queue.stream);
    return begun.result;
}

}  // namespace switchyard::optim8bit_cuda
