// To what each event of a recording belongs: slot, layer, pass, and the call of a component.
//
// A call belongs to its slot; whatever happens inside belongs to the call. A node of autograd belongs to what
// it is the backward of. Of the rest the part of the step and the place in the model decide.
//
// No LibTorch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

enum class Pass : std::uint8_t {
    none,
    data,      // batches are made
    forward,
    again,     // a forward that runs a second time, in backward
    backward,
    update     // from gradients to new parameters
};
std::string_view name(Pass pass);

// Slots as a profile tells them, in their order.
inline constexpr std::string_view slots[] = {
    "attention", "normalization", "activation",  "linear",             "loss",
    "optimizer", "embeddings",    "data_loader", "precision_clipping", "rest"};

struct Owner {
    std::string_view slot = "rest";  // one of `slots`
    std::string use;                 // the slot as the plan has it: "linear.attention.q"; empty: no component
    std::string layer;               // "encoder.0", "embeddings", "loss"; empty: none
    Pass pass = Pass::none;
    std::int32_t call = -1;  // the forward, or backward, call of the component
};

// One for each event.
std::vector<Owner> owners_of(const Recording& recording);

// "encoder.0.attention.q" is of "encoder.0", "embeddings.norm" of "embeddings".
std::string layer_of(std::string_view place);

// Time of each event that is none of its children's, nor was spent on writing them down, in milliseconds.
std::vector<double> own_milliseconds(const Recording& recording);

// Whether an event's own time is that of something: an operator, a component, a node of autograd. The others
// bracket what is between them.
inline bool explains(EventKind kind) {
    return kind == EventKind::call || kind == EventKind::node || kind == EventKind::op;
}

// What each event computed and moved, so that nothing counts twice. Of calls by their contract (`contract`),
// with that of the backward on the first event of its backward; or of operators: of a product its own, of
// others that of the innermost.
std::vector<Cost> counted_costs(const Recording& recording, const std::vector<Owner>& owners, bool contract);

}  // namespace switchyard::profile
