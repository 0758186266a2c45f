#include "core/workbench/cli/job/shared_plan.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "core/kernel/resolver/plan_json.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

// A file with that text, for as long as it is needed.
class PlanFile {
public:
    explicit PlanFile(const std::string& text) {
        path_ = (std::filesystem::temp_directory_path() / "switchyard-plan-XXXXXX").string();
        const int descriptor = ::mkstemp(path_.data());
        if (descriptor < 0) throw Failure("cannot write into " + path_, Exit::run_failed);
        ::close(descriptor);
        write_file(path_, text);
    }
    ~PlanFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    PlanFile(const PlanFile&) = delete;
    PlanFile& operator=(const PlanFile&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace

std::unique_ptr<PlannedJob> plan_for(const JobOptions& job, const PlanOptions& plan, TrainRanks* ranks) {
    auto own = plan;
    own.place = ranks == nullptr ? distributed::Place{} : ranks->group().place();
    if (ranks == nullptr) return plan_job(job, own);
    if (ranks->is_first()) {
        auto planned = plan_job(job, own);
        ranks->from_first("plan", resolver::to_json(planned->plan).dump());
        return planned;
    }
    const PlanFile first(ranks->from_first("plan", ""));
    return plan_job(job, {.missing = Missing::leave, .recorded = first.path(), .place = own.place});
}

}  // namespace switchyard::cli
