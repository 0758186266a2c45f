#include "core/kernel/runtime/stable/stable_services.h"

#include <exception>
#include <utility>

#include <ATen/Parallel.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/headeronly/version.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/saved.h>
#include <switchyard/interfaces/verdict.h>
#include "core/kernel/runtime/services.h"

namespace switchyard::runtime::stable {
namespace {

std::string& call_error() {
    static thread_local std::string text;
    return text;
}

void fail(const char* text) {
    try {
        call_error() = text == nullptr ? "" : text;
    } catch (...) {  // no memory for the text: the status alone tells
        call_error().clear();
    }
}

// No exception goes back to the plugin.
template <class Work>
std::int32_t status_of(Work&& work) noexcept {
    try {
        work();
        return 0;
    } catch (const std::exception& error) {
        fail(error.what());
    } catch (...) {
        fail("the host failed without a word");
    }
    return 1;
}

void count_for_token(void* token, const char* variant) {
    const auto* const who = static_cast<const ExecutionToken*>(token);
    if (who != nullptr && who->services != nullptr) who->services->executed(who->token, variant);
}

void write_to_log(std::int32_t level, const char* plugin, const char* text) {
    status_of([&] { services()->log(level, plugin, text); });
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

void reject(SwitchyardStableVerdict* verdict, std::int32_t code, const char* field, const char* expected,
            const char* got) {
    const bool known = code >= 0 && code <= SWITCHYARD_CODE_INTERNAL;
    status_of([&] {
        reinterpret_cast<Verdict*>(verdict)->reasons.push_back(
            {known ? static_cast<Code>(code) : Code::Internal,
             text_or_empty(field),
             text_or_empty(expected),
             text_or_empty(got),
             {}});
    });
}

// The texts of name() are literals.
const char* dtype_name(std::int32_t dtype) { return name(static_cast<DType>(dtype)).data(); }
const char* device_name(std::int32_t device) { return name(static_cast<Device>(device)).data(); }

const Options& options_of(const SwitchyardStableOptions* options) {
    return *reinterpret_cast<const Options*>(options);
}

std::int32_t option_boolean(const SwitchyardStableOptions* options, const char* name, std::int32_t* value) {
    return status_of([&] { *value = options_of(options).boolean(name) ? 1 : 0; });
}
std::int32_t option_integer(const SwitchyardStableOptions* options, const char* name, std::int64_t* value) {
    return status_of([&] { *value = options_of(options).integer(name); });
}
std::int32_t option_number(const SwitchyardStableOptions* options, const char* name, double* value) {
    return status_of([&] { *value = options_of(options).number(name); });
}
std::int32_t option_string(const SwitchyardStableOptions* options, const char* name, const char** value) {
    return status_of([&] { *value = options_of(options).string(name).c_str(); });
}
std::int32_t option_list_size(const SwitchyardStableOptions* options, const char* name, std::int64_t* size) {
    return status_of([&] { *size = static_cast<std::int64_t>(options_of(options).list(name).size()); });
}
std::int32_t option_list_item(const SwitchyardStableOptions* options, const char* name, std::int64_t index,
                              const char** value) {
    return status_of(
        [&] { *value = options_of(options).list(name).at(static_cast<std::size_t>(index)).c_str(); });
}

Saved& saved_of(SwitchyardStableSaved* saved) { return *reinterpret_cast<Saved*>(saved); }
const Saved& saved_of(const SwitchyardStableSaved* saved) { return *reinterpret_cast<const Saved*>(saved); }

std::int32_t save(SwitchyardStableSaved* saved, AtenTensorHandle tensor, std::int32_t role) {
    return status_of([&] {
        if (role < SWITCHYARD_SAVED_INPUT || role > SWITCHYARD_SAVED_EXTRA)
            throw std::invalid_argument("save: " + std::to_string(role) +
                                        " is none of the roles of a tensor");
        const auto* const held = torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor);
        saved_of(saved).tensors.push_back(
            {held == nullptr ? at::Tensor() : *held, static_cast<SavedRole>(role)});
    });
}
std::int32_t save_integer(SwitchyardStableSaved* saved, std::int64_t value) {
    return status_of([&] { saved_of(saved).integers.push_back(value); });
}
std::int32_t saved_tensor(const SwitchyardStableSaved* saved, std::int64_t index, AtenTensorHandle* tensor) {
    return status_of([&] {
        const at::Tensor& kept = saved_of(saved).tensors.at(static_cast<std::size_t>(index)).tensor;
        *tensor = kept.defined()
                      ? torch::aot_inductor::tensor_pointer_to_tensor_handle(const_cast<at::Tensor*>(&kept))
                      : nullptr;
    });
}
std::int32_t saved_integer(const SwitchyardStableSaved* saved, std::int64_t index, std::int64_t* value) {
    return status_of([&] { *value = saved_of(saved).integers.at(static_cast<std::size_t>(index)); });
}

std::int32_t add_state(SwitchyardStableState* state, const char* parameter, const char* key,
                       AtenTensorHandle value) {
    return status_of([&] {
        const auto* const held = torch::aot_inductor::tensor_handle_to_tensor_pointer(value);
        reinterpret_cast<OptimizerState*>(state)->entries.push_back(
            {text_or_empty(parameter), text_or_empty(key), held == nullptr ? at::Tensor() : *held});
    });
}

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  void (*body)(void* context, std::int64_t first, std::int64_t last), void* context) {
    at::parallel_for(begin, end, grain < 1 ? 1 : grain,
                     [&](std::int64_t first, std::int64_t last) { body(context, first, last); });
}

#define SWITCHYARD_DIGITS(number) SWITCHYARD_DIGITS_(number)
#define SWITCHYARD_DIGITS_(number) #number
constexpr const char* libtorch_here = SWITCHYARD_DIGITS(TORCH_VERSION_MAJOR) "." SWITCHYARD_DIGITS(
    TORCH_VERSION_MINOR) "." SWITCHYARD_DIGITS(TORCH_VERSION_PATCH);
#undef SWITCHYARD_DIGITS_
#undef SWITCHYARD_DIGITS

constexpr SwitchyardStableServices stable_table{.struct_size = sizeof(SwitchyardStableServices),
                                                .abi_major = SWITCHYARD_STABLE_ABI_MAJOR,
                                                .abi_minor = SWITCHYARD_STABLE_ABI_MINOR,
                                                .libtorch_version = libtorch_here,
                                                .executed = count_for_token,
                                                .log = write_to_log,
                                                .fail = fail,
                                                .reject = reject,
                                                .dtype_name = dtype_name,
                                                .device_name = device_name,
                                                .option_boolean = option_boolean,
                                                .option_integer = option_integer,
                                                .option_number = option_number,
                                                .option_string = option_string,
                                                .option_list_size = option_list_size,
                                                .option_list_item = option_list_item,
                                                .save = save,
                                                .save_integer = save_integer,
                                                .saved_tensor = saved_tensor,
                                                .saved_integer = saved_integer,
                                                .add_state = add_state,
                                                .parallel_for = parallel_for};

}  // namespace

const SwitchyardStableServices* stable_services() { return &stable_table; }

std::string take_call_error() { return std::exchange(call_error(), {}); }

}  // namespace switchyard::runtime::stable
