// Which keys of the configuration a field of a request follows from, so that who is told that a component
// does not serve it knows what to change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::resolver {

// A field, or one of its masks, with its keys: the one that goes before the others first.
struct FieldKeys {
    std::string what;  // "head_dim", "masks: sliding_window"
    std::vector<std::string_view> keys;
};

// Of the field that a reason names, or of the fields ("q_length, kv_length"): empty where no key decides
// them. `request` is of the type that belongs to `kind`.
std::vector<FieldKeys> keys_of(Kind kind, const Request& request, std::string_view reason_field);

}  // namespace switchyard::resolver
