// How a run is gone on with truthfully: what differs from the job that was begun is told, written down, and
// refused where the run would then no longer be what its record says, unless --allow-change takes it on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/run_facts.h"

namespace switchyard::cli {

// Where a run goes on from.
struct ResumedFrom {
    std::string place;      // checkpoint or run folder, for messages
    std::int64_t step = 0;  // that it has done
    std::string facts;      // JSON of its RunFacts; empty: not known
};

// What differs now; those that count are all in `allowed`. Throws Failure for one that is not, and for a key
// in `allowed` that is none.
std::vector<train::FactChange> changes_since(const ResumedFrom& from, const train::RunFacts& now,
                                             const std::vector<std::string>& allowed);

// The same of a run that begins, for `--resume auto`: there is nothing that they would allow.
void check_allowed_keys(const std::vector<std::string>& allowed, const train::RunFacts& now);

// Tells them and writes them down in changes.jsonl. Throws Failure if that cannot be written.
void record_changes(const train::RunDirectory& run, const ResumedFrom& from,
                    const std::vector<train::FactChange>& changes);

// A run that goes on has the tokenizer that came with its first weights in its own folder: those may be gone.
void use_kept_tokenizer(config::Config& config, const train::RunDirectory& run);

// Whether the run has come to its end, all of it written, with `done` steps, of which it has `steps`: going
// on would replace what its files say by what no step says.
bool is_finished(const train::RunDirectory& run, std::int64_t done, std::int64_t steps);
// Says so; what a kill in its last save left aside is removed.
void leave_finished(const train::RunDirectory& run, std::int64_t steps);

// record.json: the command, the version of this program and the facts of the beginning.
std::string record_text(const train::RunFacts& facts);
// The facts in it as JSON; empty if there is no such file.
std::string recorded_facts(const train::RunDirectory& run);

}  // namespace switchyard::cli
