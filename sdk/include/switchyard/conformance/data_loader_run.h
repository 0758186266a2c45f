// One case of a data loader on the component: two epochs and a return into them, for each rank.
#pragma once

#include <memory>
#include <string>

#include <switchyard/conformance/free_case.h>
#include <switchyard/interfaces/data_loader.h>

namespace switchyard::conformance {

constexpr std::int64_t longest_sample = 9;  // tokens of one side
constexpr std::int64_t loader_epochs = 2;   // that are read

struct LoaderSpec {
    std::string family;
    std::int64_t size = 23;  // samples
    LoaderParams params;     // rank: all of them, one after another
    bool labels_per_token = false, no_labels = false;
    bool token_type_ids = false, target = false;
    bool equal_lengths = false, empty_samples = false;
    bool documents = false;         // of most samples
    std::int64_t float_labels = 0;  // of each sample, instead of labels
};

// Of a component whose composition is its own: what is asked of it is that each sample comes once an epoch
// over all ranks, that batches keep to batch_size and token_budget and hold what the reference makes of their
// samples, padding aside, that all is a function of seed, epoch and ranks, and that positions can be returned
// to.
void run_own_composition(const LoaderSpec& spec, const std::shared_ptr<const DataLoaderRequest>& request,
                         Findings& findings);

void run_data_loader(const LoaderSpec& spec, const std::shared_ptr<const DataLoaderRequest>& request,
                     Findings& findings);

// The code and detail of the first difference between a batch and the reference's of the same samples; code
// "" where there is none.
Fault difference_of(const Batch& found, const Batch& expected);

}  // namespace switchyard::conformance
