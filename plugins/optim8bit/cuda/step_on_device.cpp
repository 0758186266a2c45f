#include "step_on_device.h"

#include <algorithm>
#include <cstring>

#include "dynamic_codes.h"

namespace switchyard::optim8bit_cuda {
namespace {

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

float* scales(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}

}  // namespace

StepOnDevice::StepOnDevice(const CreateInfo& info)
    : StepWithMoments("optim8bit", optimizer_request(info),
                      {optimizer_request(info).algorithm,
                       {info.options.integer("min_8bit_size"), info.options.list("keep_32bit")}}) {
    codes_.by_chance = info.options.boolean("stochastic_rounding");
    codes_.seed = static_cast<std::uint64_t>(info.options.integer("seed"));
}

void StepOnDevice::bind(const std::vector<ParameterGroup>& groups) {
    StepWithMoments::bind(groups);
    books_ = books_on(where());
    codes_.books = static_cast<const Books*>(books_.const_data_ptr());
}

void StepOnDevice::describe(const StepTensor& from, device::TensorOfStep& to) {
    const auto& own = moments_[from.index];
    const bool adamw = algorithm_ == OptimizerKind::adamw;
    const Rule rule = own.wide ? adamw ? Rule::adamw_floats : Rule::lion_floats
                      : adamw  ? Rule::adamw_codes
                               : Rule::lion_codes;
    to.rule = static_cast<std::uint8_t>(rule);
    to.first = device::place_of(own.first.values);
    to.second = device::place_of(own.second.values);
    to.first_scale = scales(own.first.largest);
    to.second_scale = scales(own.second.largest);
}

StepResult StepOnDevice::step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                              const device::Queue& queue) {
    const auto begun = begin(
        groups, params, queue, [&](const StepTensor& from, device::TensorOfStep& to) { describe(from, to); },
        launch_norm);
    launch_step(begun.call, codes_,
                device::optimizer_launch(begun.call.table.piece_count, queue, step_shared_bytes),
                queue.stream);
    return begun.result;
}

}  // namespace switchyard::optim8bit_cuda
