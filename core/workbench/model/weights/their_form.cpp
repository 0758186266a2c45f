#include "core/workbench/model/weights/their_form.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

namespace switchyard::model {

std::vector<TheirTensor> their_tensors(Family family, const Parameters& parameters) {
    std::vector<std::string> names;
    for (const auto& parameter : parameters.all()) names.push_back(parameter.name);
    return their_tensors(family, names);
}

at::Tensor rows_of(const TheirTensor::Part& part, const at::Tensor& ours) {
    if (part.shares == 1) return ours;
    const auto rows = ours.size(0) / part.shares;
    return ours.narrow(0, part.share * rows, rows);
}

std::vector<std::int64_t> shape_of(const TheirTensor& theirs, const Parameters& parameters) {
    std::vector<std::int64_t> shape;
    for (const auto& part : theirs.parts) {
        const auto rows = rows_of(part, parameters.find(part.ours)->value);
        if (shape.empty())
            shape = rows.sizes().vec();
        else
            shape.front() += rows.size(0);
    }
    if (!shape.empty()) shape.front() += theirs.rows_before;
    if (theirs.transposed && shape.size() == 2) std::swap(shape[0], shape[1]);
    return shape;
}

at::Tensor in_their_form(const TheirTensor& theirs,
                         const std::function<at::Tensor(const std::string&)>& ours) {
    std::vector<at::Tensor> rows;
    for (const auto& part : theirs.parts) rows.push_back(rows_of(part, ours(part.ours)));
    if (theirs.rows_before > 0) {
        auto shape = rows.front().sizes().vec();
        shape.front() = theirs.rows_before;
        rows.insert(rows.begin(), rows.front().new_zeros(shape));
    }
    const auto upright = rows.size() == 1 ? rows.front() : at::cat(rows);
    return theirs.transposed ? upright.t() : upright;
}

namespace {

// What a parameter, or some of its rows, is in a tensor of that shape.
template <class Use>
void for_each_part(const TheirTensor& theirs, const at::Tensor& value, const Parameters& parameters,
                   const Use& use) {
    const at::NoGradGuard no_grad;
    const auto upright = theirs.transposed ? value.t() : value;
    std::int64_t row = theirs.rows_before;
    for (const auto& part : theirs.parts) {
        const auto ours = rows_of(part, parameters.find(part.ours)->value);
        use(part.ours, ours, upright.narrow(0, row, ours.size(0)));
        row += ours.size(0);
    }
}

}  // namespace

void set_from(const TheirTensor& theirs, const at::Tensor& value, const Parameters& parameters) {
    for_each_part(
        theirs, value, parameters,
        [](const std::string&, const at::Tensor& ours, const at::Tensor& rows) { ours.copy_(rows); });
}

void add_unlike(const TheirTensor& theirs, const at::Tensor& value, const Parameters& parameters,
                std::vector<std::string>& names) {
    for_each_part(theirs, value, parameters,
                  [&](const std::string& name, const at::Tensor& ours, const at::Tensor& rows) {
                      if (!ours.equal(rows.to(ours.options()))) names.push_back(name);
                  });
}

}  // namespace switchyard::model
