// What decides on the numbers of a run: its whole configuration, what its data files hold, and in how many
// threads and ranks it computes. Kept in record.json as the run was begun and with every checkpoint as it was
// when that was saved, so that a resumption can say what has changed since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/base/json_text.h"
#include "core/kernel/config/config.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::train {

struct DataFile {
    std::string path;
    std::string hash;  // XXH3 of 128 bits; empty: no regular file, whose content is not known
};

struct RunFacts {
    std::map<std::string, std::string> config;  // config::canonical_values
    std::map<std::string, std::vector<DataFile>>
        data;                   // "data.train": its files in order, those of folders too
    std::int64_t threads = 0;   // that compute, of one process
    std::int64_t ranks = 0;     // processes that share it; 0: not known
    std::string cpu, libtorch;  // where it ran; told, never refused
};

// Of one process. Reads every data file once, for its hash. `tokenizer`: the one of this job.
RunFacts facts_of(const config::Config& config, const data::Tokenizer& tokenizer, std::int64_t threads,
                  const HostInfo& host);
// With what the files of train.weights and lora.from hold, which counts while nothing has been learnt: of a
// run that begins, and of one that goes on without a checkpoint. Reads them once.
RunFacts with_first_weights(RunFacts facts, const config::Config& config);

base::Json to_json(const RunFacts& facts);
// Of what to_json made; what is missing or of another type is left empty.
RunFacts facts_from(const base::Json& json);

struct FactChange {
    std::string key;  // of the configuration, or "ranks", "cpu", "libtorch"
    std::string before, now;
    bool counts =
        true;  // the run would not be what its record says; else only what is written down, and when, changes
};

// Of the configuration, the data and the machine, each in the order of keys. A key of the configuration that
// only one of them knows has there the default of this program. Another number of threads counts, unless it
// follows from the processors (runtime.threads = 0) and another number of ranks divides them, which learns
// the same within rounding alone.
std::vector<FactChange> changes_between(const RunFacts& before, const RunFacts& now);

// Whether other parameters may be trained than before.
inline bool changes_groups(const FactChange& change) {
    return change.key == "group" || change.key == "lora.trained";
}

}  // namespace switchyard::train
