// A pipeline's step against the times that its authors count.
#include <cmath>
#include <vector>

#include "core/workbench/model/pipeline_schedule.h"
#include "core/workbench/scale/pipeline_time.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::scale;
using config::PipelineSchedule;
using test::Approx;

namespace {

PipelineTime equal_stages(PipelineSchedule schedule, std::size_t stages, std::int64_t micro_batches,
                          double send_ms = 0.0) {
    return simulate_pipeline({std::vector<double>(stages, 1.0), std::vector<double>(stages, 2.0), send_ms,
                              micro_batches, schedule});
}

}  // namespace

TEST_CASE("equal stages take as long as all micro-batches and one for each other stage") {
    // Narayanan et al. 2021, section 2.2: (p - 1) (t_f + t_b) beside m (t_f + t_b), of both schedules.
    for (const auto schedule : {PipelineSchedule::one_forward_one_backward, PipelineSchedule::gpipe}) {
        for (const std::size_t stages : {1, 2, 4, 8}) {
            for (const std::int64_t count : {1, 2, 8, 32}) {
                INFO(name(schedule) << ", " << stages << " stages, " << count << " micro-batches");
                const auto time = equal_stages(schedule, stages, count);
                const auto others = static_cast<double>(stages - 1);
                CHECK(time.all_ms == Approx(3.0 * (static_cast<double>(count) + others)));
                CHECK(time.bubble() == Approx(model::bubble_share(static_cast<std::int64_t>(stages), count)));
                for (const double waits : time.waits_ms) CHECK(waits == Approx(3.0 * others));
            }
        }
    }
}

TEST_CASE("what rounding leaves of no wait is no bubble") {
    PipelineTime time{10.0, {-1e-15, 1e-14}};
    CHECK(time.bubble() == 0.0);
    time.waits_ms = {-1e-14};
    CHECK_FALSE(std::signbit(time.bubble()));
}

TEST_CASE("all wait for the slowest stage, and for what travels") {
    // Two micro-batches through 1 and 3 ms forward, 2 and 6 ms backward.
    const auto time =
        simulate_pipeline({{1.0, 3.0}, {2.0, 6.0}, 0.0, 2, PipelineSchedule::one_forward_one_backward});
    CHECK(time.all_ms == Approx(1.0 + 2 * 9.0 + 2.0));
    CHECK(time.waits_ms[0] == Approx(21.0 - 6.0));
    CHECK(time.waits_ms[1] == Approx(21.0 - 18.0));
    // There and back once, where one micro-batch passes through two stages.
    CHECK(equal_stages(PipelineSchedule::gpipe, 2, 1, 0.5).all_ms == Approx(6.0 + 2 * 0.5));
}
