// How `auto` chooses for a configuration on this machine: reads what was measured before, and measures what
// is missing where that is wanted.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/base/json_text.h"
#include "core/kernel/config/config.h"
#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/resolver/resolver.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/job/measurement_cache.h"

namespace switchyard::cli {

// What is done about a slot with `auto` whose candidates have not been measured: `measure` them now, or
// `leave` it to the priority.
enum class Missing { measure, leave };

// Why `auto` goes by priority under that configuration, whatever has been measured: "runtime.auto"; empty: it
// does not.
std::string rank_because(const config::Config& config, const HostInfo& host);

// Sets LibTorch's threads as [runtime] says (0: as many as at the start of the process). Measurements are of
// that many.
void set_threads(std::int64_t threads);

// A use of a model that `auto` has to choose for, and who could serve it.
struct OpenChoice {
    resolver::SlotUse use;
    std::vector<resolver::Candidate> candidates;  // conformant, two or more
};

// All of a configuration's, in the order of its plan; those that are not measured at all are left out. None
// where something of the plan is wrong. `registry` must outlive the candidates.
std::vector<OpenChoice> open_choices(const config::Config& config, runtime::Registry& registry,
                                     const HostInfo& host);

// Where measurements under that [runtime] are kept; `set_threads` comes before.
MeasurementCache measurement_cache(const config::Config& config, const HostInfo& host);

// Measurements of this machine under one configuration's [runtime].
class Measurements {
public:
    // Reads what is remembered; of the same subject what is given counts instead. `set_threads` and the
    // allocator come before.
    Measurements(const config::Config& config, const HostInfo& host,
                 const std::vector<resolver::Measurement>& given = {});

    // Measures one after the other, those that are known only if `again`, with a bar. Keeps them here, and
    // saves them: those that others disturbed only where `keep` says always, and none where a candidate is
    // out for lack of memory. By choice: whether it was measured now.
    std::vector<bool> measure(const std::vector<OpenChoice>& choices, runtime::Registry& registry,
                              config::KeepTimes keep, bool again = false);
    // What holds for that choice, or nullptr.
    const resolver::Measurement* find(const OpenChoice& choice) const;
    resolver::Chooser chooser() const { return chooser_; }

    const MeasurementCache& measurement_cache() const { return measurement_cache_; }
    const std::vector<std::string>& notes() const { return notes_; }
    // Why something could not be remembered; empty: all could.
    const std::string& not_remembered() const { return not_remembered_; }
    // How many kinds of request were measured now, and how many of them while others used the processors: the
    // largest share that they had.
    std::size_t measured() const { return measured_now_.size(); }
    std::size_t disturbed() const { return disturbed_; }
    double share_of_others() const { return share_of_others_; }
    // Of those measured now, how many have a candidate that found no memory, and how many are saved.
    std::size_t short_of_memory() const { return short_of_memory_; }
    std::size_t saved() const { return saved_; }

private:
    bool measure_one(const OpenChoice& choice, runtime::Registry& registry, config::KeepTimes keep,
                     bool again);

    const HostInfo& host_;
    MeasurementCache measurement_cache_;
    std::vector<std::string> notes_;
    std::string not_remembered_;
    std::set<std::string> measured_now_;  // resolver::subject
    std::size_t disturbed_ = 0;
    double share_of_others_ = 0.0;
    std::size_t short_of_memory_ = 0, saved_ = 0;
    resolver::MeasuredChoice chooser_;
};

// "3 kinds of request were timed while other programs used up to 43 % of the processors".
std::string disturbed_text(const Measurements& measurements);
// "a candidate for 1 kind of request is out because there was no memory for it".
std::string short_of_memory_text(const Measurements& measurements);

// What to plan these configurations with, whose [runtime] is the first one's: the same times for all of them.
// `given`: times that go before those that are kept. Notes, and a line when something was measured, go to
// stderr.
resolver::ResolveOptions auto_choice(const std::vector<config::Config>& configs, runtime::Registry& registry,
                                     const HostInfo& host, Missing missing,
                                     const std::vector<resolver::Measurement>& given = {});
resolver::ResolveOptions auto_choice(const config::Config& config, runtime::Registry& registry,
                                     const HostInfo& host, Missing missing,
                                     const std::vector<resolver::Measurement>& given = {});

// The slots of a plan.json; an empty list for a file that is none.
base::Json recorded_slots(const std::string& plan_json);

// The choices of an earlier plan for the slots that are `auto`, from its plan.json; else as `otherwise` says.
// A file that is no plan is not used.
resolver::Chooser as_recorded(const std::string& plan_json, resolver::Chooser otherwise);

}  // namespace switchyard::cli
