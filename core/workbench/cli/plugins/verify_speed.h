// `switchyard plugins verify --mode speed`: the components under test beside LibTorch's own calls, by
// `switchyard bench` in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/kinds.h>
#include "core/workbench/cli/plugins/verify_case.h"

namespace switchyard::cli {

struct TimedComponent {
    nlohmann::ordered_json bench;  // what `switchyard bench --json` gives; null: it did not come to that
    std::string refused;           // why not
    bool stopped = false;
    bool was_timed = false;  // there are times of it
    bool is_wrong = false;   // or what is no result
};

struct ToTime {
    Kind kind = Kind::attention;
    std::string plugin, id;
    std::string library;               // where it is found
    std::vector<std::string> options;  // "chunk_size=64"
};

// Times a component at the sizes that bench has by itself. Its table goes to the standard output where
// `prints`. `stop` is looked at while it runs, for `timeout_ms` at most; a tenth of that, and 20 s at most,
// is what it is timed for, roughly.
TimedComponent time_component(const VerifyRequest& request, const ToTime& component, bool prints,
                              const std::function<bool()>& stop, double timeout_ms);

}  // namespace switchyard::cli
