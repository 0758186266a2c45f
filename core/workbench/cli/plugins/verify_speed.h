// `switchyard plugins verify --mode speed`: the components under test beside LibTorch's own calls, by
// `switchyard bench` in a process of its own.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/kinds.h>
#include "core/workbench/cli/plugins/verify_case.h"

namespace switchyard::cli {

struct TimedComponent {
    nlohmann::ordered_json bench;  // what `switchyard bench --json` gives; null: nothing was timed
    std::string refused;           // why not
    bool stopped = false;
};

// Times `component` ("plugin/id"), found under `library`, at the sizes that bench has by itself. Its table
// goes to the standard output where `prints`. `stop` is looked at while it runs, for `timeout_ms` at most.
TimedComponent time_component(const VerifyRequest& request, Kind kind, const std::string& component,
                              const std::string& library, bool prints, const std::function<bool()>& stop,
                              double timeout_ms);

}  // namespace switchyard::cli
