// Properties that a component says of itself in words, asked for through Component::query. Since 1.0.
//
// The answer is a `const char*` that lives as long as the component; nullptr, which is also what a component
// answers that does not know the property, says nothing.
//
//     void* query(std::string_view id) override {
//         return component_property(id, {{graph_capture_property, ""}, {computes_in_property, "fp32"}});
//     }
#pragma once

#include <initializer_list>
#include <string_view>

namespace switchyard {

// May its calls be captured into a CUDA graph and replayed? "" for yes, else the reason in plain words;
// nullptr is a no. Yes promises, of forward, backward and step as the component is bound, on CUDA, without
// dropout (with it nothing is captured: its seed is the host's), once they have run uncaptured:
//   - no wait for the device: no value of a tensor is read on the host;
//   - memory only from LibTorch's allocators, work only on the current stream;
//   - what differs between two steps of the same shapes comes in through tensors: what the host computes is
//     done once, at capture.
inline constexpr std::string_view graph_capture_property = "graph_capture.1";

// In which number formats did its own kernels compute in the call that returned last? `switchyard precision`
// shows the answer, in the words of its tables: "fp32" for everything, "bf16, fp32 sums" for products of
// bfloat16 summed up in float32 and all else in float32. nullptr where LibTorch's operators did the work:
// those are seen.
inline constexpr std::string_view computes_in_property = "computes_in.1";

// On a CPU, bound for a deterministic request: are all its results the same bits whatever the number of
// LibTorch's threads? "" for yes, else the reason in plain words; nullptr is a no. What is summed up is then
// cut into parts by shapes alone. The plan of a deterministic run names who does not promise it.
inline constexpr std::string_view thread_counts_property = "thread_counts.1";

// Of a linear component: what its prepared weights depend on besides the weight and for_gradient, in words.
// Bindings of one component that answer alike are given each other's forms, so that phases share one.
// nullptr: a form is its binding's alone.
inline constexpr std::string_view weight_form_property = "weight_form.1";

// As it is bound, on the host that it was made for: is it known beforehand to take many times as long as in
// float32? The reason in plain words, a sentence without its end, and what to do; "" and nullptr: that is not
// known. The plan warns of it.
inline constexpr std::string_view slow_here_property = "slow_here.1";

struct ComponentProperty {
    std::string_view id;
    const char* text;
};

// For a component's query: the text of that property, or nullptr.
inline void* component_property(std::string_view id, std::initializer_list<ComponentProperty> known) {
    for (const ComponentProperty& one : known) {
        if (one.id == id) return const_cast<char*>(one.text);
    }
    return nullptr;
}

}  // namespace switchyard
