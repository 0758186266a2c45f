// One case of a data loader on the component: two epochs and a return into them, for each rank.
#pragma once

#include <memory>
#include <string>

#include <switchyard/conformance/free_case.h>
#include <switchyard/interfaces/data_loader.h>

namespace switchyard::conformance {

constexpr std::int64_t longest_sample = 9;  // tokens of one side

struct LoaderSpec {
    std::string family;
    std::int64_t size = 23;  // samples
    LoaderParams params;     // rank: all of them, one after another
    bool labels_per_token = false, no_labels = false;
    bool token_type_ids = false, target = false;
    bool equal_lengths = false, empty_samples = false;
    bool documents = false;  // of most samples
};

void run_data_loader(const LoaderSpec& spec, const std::shared_ptr<const DataLoaderRequest>& request,
                     Findings& findings);

// The code and detail of the first difference between a batch and the reference's of the same samples; code
// "" where there is none.
Fault difference_of(const Batch& found, const Batch& expected);

}  // namespace switchyard::conformance
