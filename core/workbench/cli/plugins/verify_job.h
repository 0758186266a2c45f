// What of a job `switchyard plugins verify --config` looks at: each component that its plan chose, with the
// options that the configuration gives it and the requests that it is chosen for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/options.h>
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/plugins/verify_case.h"

namespace switchyard::cli {

struct PlannedPart {
    Kind kind = Kind::attention;
    std::string plugin, id, variant;
    Options options;
    std::vector<std::shared_ptr<const Request>> requests;  // each once
    std::vector<std::string> uses;                         // "encoder.0-5, train", one a request
    std::vector<std::string> words;                        // resolver::use_in_words, one a request
    std::string version, content_hash, library_path;

    std::string name() const { return plugin + "/" + id + (variant.empty() ? "" : "@" + variant); }
};

// The plan of the request's configuration. The process that verifies makes the same one.
std::unique_ptr<PlannedJob> plan_to_verify(const VerifyRequest& request);

// In the order of the plan; of the plugin and the component that the request names, if it does.
std::vector<PlannedPart> planned_parts(const resolver::Plan& plan, const VerifyRequest& request);

}  // namespace switchyard::cli
