// What a user gave cannot be used: "runs/a/metrics.jsonl:17: error: ...", ready to be shown.
#pragma once

#include <stdexcept>

namespace switchyard::base {

struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace switchyard::base
