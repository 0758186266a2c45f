#include "core/workbench/train/precision/observed_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <tuple>

#include <switchyard/interfaces/component_property.h>
#include "core/kernel/base/joined.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::train {
namespace {

constexpr std::array<std::string_view, 6> parameter_names{"weight", "bias",          "beta",
                                                          "value",  "relative_bias", "master"};

bool is_parameter(std::string_view name) {
    return std::find(parameter_names.begin(), parameter_names.end(), name) != parameter_names.end();
}

// "linear.backward" is a linear layer.
std::string operation_of(std::string_view call) {
    if (call.starts_with("linear.")) return "linear";
    return std::string(call.substr(0, call.find('.')));
}

TensorRole role_of(const runtime::ObservedCall& call, std::string_view name, bool enters) {
    if (call.pass == runtime::Pass::backward || name == "gradient") return TensorRole::gradient;
    if (is_parameter(name)) return TensorRole::parameter;
    return enters ? TensorRole::input : TensorRole::output;
}

// "encoder.11.attention" -> "encoder.", 11, ".attention"; number -1: there is none.
struct Numbered {
    std::string before, after;
    std::int64_t number = -1;
};

Numbered numbered(const std::string& layer) {
    for (std::size_t dot = layer.find('.'); dot != std::string::npos; dot = layer.find('.', dot + 1)) {
        std::size_t end = dot + 1;
        while (end < layer.size() && std::isdigit(static_cast<unsigned char>(layer[end])) != 0) ++end;
        if (end == dot + 1 || (end < layer.size() && layer[end] != '.') || end > dot + 10) continue;
        return {layer.substr(0, dot + 1), layer.substr(end),
                std::stoll(layer.substr(dot + 1, end - dot - 1))};
    }
    return {layer, "", -1};
}

// "0-3,7".
std::string ranges_text(const std::set<std::int64_t>& numbers) {
    std::string text;
    for (auto at = numbers.begin(); at != numbers.end();) {
        const auto first = *at;
        auto last = first;
        while (++at != numbers.end() && *at == last + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(first);
        if (last > first) text.append("-").append(std::to_string(last));
    }
    return text;
}

std::string dtypes_text(const OperationRecord& record) {
    std::string text = base::joined(record.inside) + "|" + base::joined(record.own);
    for (const auto& tensor : record.tensors) text += "|" + tensor.name + ":" + base::joined(tensor.dtypes);
    return text;
}

void merge(OperationRecord& into, const OperationRecord& from) {
    into.calls += from.calls;
    for (std::size_t i = 0; i < from.tensors.size(); ++i) into.tensors[i].values.add(from.tensors[i].values);
}

}  // namespace

std::string short_name(at::ScalarType dtype) {
    switch (dtype) {
        case at::kFloat:
            return "fp32";
        case at::kDouble:
            return "fp64";
        case at::kBFloat16:
            return "bf16";
        case at::kHalf:
            return "fp16";
        case at::kFloat8_e4m3fn:
            return "E4M3";
        case at::kFloat8_e5m2:
            return "E5M2";
        case at::kByte:
            return "uint8";
        default:
            return c10::toString(dtype);
    }
}

std::set<std::string> OperationRecord::dtypes(bool enters, bool parameters) const {
    std::set<std::string> found;
    for (const auto& tensor : tensors) {
        if (tensor.enters == enters && (tensor.role == TensorRole::parameter) == parameters)
            found.insert(tensor.dtypes.begin(), tensor.dtypes.end());
    }
    return found;
}

ValueRange OperationRecord::values() const {
    ValueRange all;
    for (const auto& tensor : tensors) all.add(tensor.values);
    return all;
}

std::uint64_t OperationRecord::not_finite() const { return values().not_finite(); }

OperationRecord& ObservedValues::record(const std::string& layer, const std::string& call) {
    const auto [at, fresh] = places_.emplace(std::pair(layer, call), records_.size());
    if (fresh) {
        records_.emplace_back();
        records_.back().layer = layer;
        records_.back().operation = operation_of(call);
    }
    return records_[at->second];
}

TensorRecord& ObservedValues::tensor(OperationRecord& record, const std::string& name, TensorRole role,
                                     bool enters) {
    for (auto& known : record.tensors) {
        if (known.name == name && known.enters == enters) return known;
    }
    record.tensors.push_back({name, role, enters, {}, {}});
    return record.tensors.back();
}

void ObservedValues::observe(const runtime::ObservedCall& call) {
    if (call.again) return;  // the same values as the first time
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& record = this->record(std::string(call.place), call.call);
    record.pass = call.pass;
    record.component = call.binding.plugin() + "/" + call.binding.component();
    record.gradient = call.binding.gradient();
    ++record.calls;
    const auto add = [&](const std::vector<runtime::ObservedTensor>& tensors, bool enters) {
        for (const auto& one : tensors) {
            if (!at::isFloatingType(one.value.scalar_type())) continue;
            const auto prefix = call.pass == runtime::Pass::backward ? "grad " : "";
            auto& known =
                tensor(record, std::string(prefix) + one.name, role_of(call, one.name, enters), enters);
            known.dtypes.insert(short_name(one.value.scalar_type()));
            known.values.add(one.value);
        }
    };
    add(call.inputs, true);
    add(call.outputs, false);
    for (const auto dtype : inside_.of(call.pass == runtime::Pass::step ? "" : call.place, call.call))
        record.inside.insert(short_name(dtype));
    if (const char* const own = call.binding.answer(computes_in_property)) record.own.insert(own);
}

void ObservedValues::add_state(const OptimizerState& state, const std::string& component) {
    for (const auto& entry : state.entries) {
        if (!entry.value.defined()) continue;
        auto& record = this->record(entry.parameter, "optimizer.step");
        record.pass = runtime::Pass::step;
        record.component = component;
        auto& known = tensor(record, entry.key, TensorRole::state, false);
        known.dtypes.insert(short_name(entry.value.scalar_type()));
        known.values.add(entry.value);
    }
}

std::uint64_t ObservedValues::not_finite() const {
    std::uint64_t sum = 0;
    for (const auto& record : records_) sum += record.not_finite();
    return sum;
}

std::vector<OperationRecord> folded(const std::deque<OperationRecord>& records) {
    struct Group {
        OperationRecord record;
        Numbered name;
        std::set<std::int64_t> numbers;
    };
    std::vector<Group> groups;
    std::map<std::tuple<std::string, std::string, runtime::Pass, std::string, std::string>, std::size_t>
        known;
    for (const auto& record : records) {
        auto name = numbered(record.layer);
        if (record.pass == runtime::Pass::step) name = {"all parameters", "", -1};
        const std::tuple key(name.before + "*" + name.after, record.operation, record.pass, record.component,
                             dtypes_text(record));
        const auto [at, fresh] = known.emplace(key, groups.size());
        if (fresh)
            groups.push_back({record, name, {}});
        else
            merge(groups[at->second].record, record);
        if (name.number >= 0) groups[at->second].numbers.insert(name.number);
    }
    std::vector<OperationRecord> result;
    for (auto& group : groups) {
        group.record.layer = group.name.before + ranges_text(group.numbers) + group.name.after;
        result.push_back(std::move(group.record));
    }
    return result;
}

}  // namespace switchyard::train
