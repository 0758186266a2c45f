#include "core/workbench/model/weights/file_tensor.h"

#include <span>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "core/workbench/gguf/blocks.h"
#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/tensors.h"

namespace switchyard::model {
namespace {

at::Tensor dequantized(const gguf::Tensor& stored) {
    auto values = at::empty(stored.shape, at::TensorOptions().dtype(at::kFloat));
    const auto& type = *stored.type;
    auto* const out = values.mutable_data_ptr<float>();
    const auto blocks = values.numel() / type.elements;
    constexpr std::int64_t at_least = 1024;
    at::parallel_for(0, blocks, at_least, [&](std::int64_t begin, std::int64_t end) {
        gguf::dequantize(
            type, stored.data + begin * type.bytes,
            {out + begin * type.elements, static_cast<std::size_t>((end - begin) * type.elements)});
    });
    return values;
}

// Each head's rows from pairs of neighbours to the two halves that turn with each other.
at::Tensor in_halves(const at::Tensor& rows, std::int64_t heads) {
    return rows.reshape({heads, -1, 2, rows.size(1)}).transpose(1, 2).reshape(rows.sizes());
}

at::Tensor in_form(const at::Tensor& value, const GgufForm& form) {
    if (form.turned_heads > 0 && value.dim() == 2) return in_halves(value, form.turned_heads);
    return form.transposed && value.dim() == 2 ? value.t() : value;
}

StoredGroups stored_groups(const gguf::Tensor& stored, std::int64_t turned_heads) {
    const auto& form = *gguf::groups_of(*stored.type);
    const auto rows = stored.shape[0], columns = stored.shape[1];
    const auto floats = at::TensorOptions().dtype(at::kFloat);
    StoredGroups groups;
    groups.bits = form.bits;
    groups.values = at::empty({rows, columns}, at::TensorOptions().dtype(at::kChar));
    groups.scales = at::empty({rows, columns / gguf::QuantizedGroups::size}, floats);
    if (form.has_zero_points) groups.zero_points = at::empty_like(groups.scales);
    const auto span_of = [](at::Tensor& tensor) {
        return tensor.defined()
                   ? std::span(tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel()))
                   : std::span<float>();
    };
    gguf::split_groups(
        *stored.type, stored.data,
        {groups.values.mutable_data_ptr<std::int8_t>(), static_cast<std::size_t>(rows * columns)},
        span_of(groups.scales), span_of(groups.zero_points));
    if (turned_heads == 0) return groups;
    for (auto* const part : {&groups.values, &groups.scales, &groups.zero_points})
        if (part->defined()) *part = in_halves(*part, turned_heads);
    return groups;
}

}  // namespace

std::vector<FileTensor> file_tensors(const std::shared_ptr<const SafetensorsFile>& file) {
    std::vector<FileTensor> all;
    for (const auto& stored : file->tensors()) {
        FileTensor one{file->path(), stored.name, stored.name, stored.shape, "", {}};
        const std::string_view type = stored.type->name;
        if (!type.starts_with('F') && type != "BF16")
            one.problem = "has dtype " + std::string(type) + "; expected floating-point weights";
        one.value = [file, &stored] { return view_stored(file, stored); };
        all.push_back(std::move(one));
    }
    return all;
}

std::vector<FileTensor> file_tensors(const std::shared_ptr<const gguf::File>& file, GgufFamily family,
                                     const config::ModelConfig& model) {
    std::vector<FileTensor> all;
    for (const auto& stored : file->tensors()) {
        if (stored.name == rotary_factors_tensor) continue;
        const auto form = form_of(family, stored.name, model);
        FileTensor one{file->path(), stored.name, huggingface_name(family, stored.name),
                       stored.shape, "",          {}};
        if (form.transposed && one.shape.size() == 2) std::swap(one.shape[0], one.shape[1]);
        if (!stored.type->readable)
            one.problem = "has the type " + std::string(stored.type->name) +
                          ", which is not read here; expected " + gguf::readable_types();
        if (form.turned_heads > 0 && stored.shape.front() % (2 * form.turned_heads) != 0)
            one.problem = "has " + std::to_string(stored.shape.front()) +
                          " rows; expected an even number for each of " + std::to_string(form.turned_heads) +
                          " heads";
        one.value = [file, &stored, form] { return in_form(dequantized(stored), form); };
        const bool matrix = stored.shape.size() == 2 && !form.transposed && one.problem.empty();
        if (matrix && gguf::groups_of(*stored.type) != nullptr)
            one.groups = [file, &stored, form] { return stored_groups(stored, form.turned_heads); };
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace switchyard::model
