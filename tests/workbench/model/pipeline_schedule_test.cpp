// The order of a pipeline's stages against the published figures, and what no order may do: wait for ever,
// or keep more than it says. To add a case: a line in a table.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/workbench/model/pipeline_schedule.h"

#include <switchyard_test.h>

using namespace switchyard;
using config::PipelineSchedule;
using model::StageAct;
using model::StageOp;

namespace {

constexpr auto one_one = PipelineSchedule::one_forward_one_backward, gpipe = PipelineSchedule::gpipe;

// "F0 F1 B0 B1": what a stage computes.
std::string computed(PipelineSchedule schedule, std::int64_t stage, std::int64_t stages, std::int64_t count) {
    std::string text;
    for (const auto& op : model::stage_ops(schedule, stage, stages, count)) {
        if (op.act != StageAct::forward && op.act != StageAct::backward) continue;
        text += (text.empty() ? "" : " ") + std::string(op.act == StageAct::forward ? "F" : "B") +
                std::to_string(op.micro_batch);
    }
    return text;
}

// Stages whose ops are done one after the other, each as soon as what it needs is there.
struct Simulated {
    bool ends = true;
    std::vector<std::int64_t> kept;  // at most, by stage
};

Simulated simulate(PipelineSchedule schedule, std::int64_t stages, std::int64_t count) {
    const auto number = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    std::vector<std::vector<StageOp>> ops;
    for (std::int64_t stage = 0; stage < stages; ++stage)
        ops.push_back(model::stage_ops(schedule, stage, stages, count));
    std::vector<std::size_t> done(number(stages));
    std::vector<std::int64_t> kept(number(stages)), last_back(number(stages), -1);
    // By sender: in the order of sending, and what has arrived.
    std::map<std::pair<std::int64_t, bool>, std::vector<std::int64_t>> on_the_way;
    std::set<std::pair<std::int64_t, std::int64_t>> arrived_back;
    Simulated made{true, std::vector<std::int64_t>(number(stages))};
    const auto runs = [&](std::int64_t stage, const StageOp& op) {
        const auto receive = [&](std::int64_t from, bool back) {
            auto& queue = on_the_way[{from, back}];
            if (queue.empty()) return false;
            REQUIRE(queue.front() == op.micro_batch);  // in the order of sending
            queue.erase(queue.begin());
            if (back) arrived_back.insert({from, op.micro_batch});
            return true;
        };
        switch (op.act) {
            case StageAct::receive_forward:
                return receive(stage - 1, false);
            case StageAct::receive_backward:
                return receive(stage + 1, true);
            case StageAct::send_forward:
                on_the_way[{stage, false}].push_back(op.micro_batch);
                return true;
            case StageAct::send_backward: {
                auto& last = last_back[number(stage)];
                if (last >= 0 && !arrived_back.contains({stage, last})) return false;
                on_the_way[{stage, true}].push_back(last = op.micro_batch);
                return true;
            }
            case StageAct::forward:
                made.kept[number(stage)] = std::max(made.kept[number(stage)], ++kept[number(stage)]);
                return true;
            case StageAct::backward:
                --kept[number(stage)];
                return true;
        }
        return false;
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (std::int64_t stage = 0; stage < stages; ++stage) {
            auto& place = done[number(stage)];
            while (place < ops[number(stage)].size() && runs(stage, ops[number(stage)][place]))
                ++place, moved = true;
        }
    }
    for (std::size_t stage = 0; stage < ops.size(); ++stage)
        made.ends = made.ends && done[stage] == ops[stage].size() && kept[stage] == 0;
    for (const auto& [sender, queue] : on_the_way) made.ends = made.ends && queue.empty();
    return made;
}

}  // namespace

TEST_CASE("stages of GPipe run all forwards, and then backward from the last micro-batch on") {
    // Huang et al. 2019, figure 2c, of four stages and four micro-batches: the same on each.
    for (std::int64_t stage = 0; stage < 4; ++stage)
        CHECK(computed(gpipe, stage, 4, 4) == "F0 F1 F2 F3 B3 B2 B1 B0");
}

TEST_CASE("with one forward and one backward each stage is as far ahead as there are stages behind it") {
    // Narayanan et al. 2021, figure 4 (top), of four stages and eight micro-batches, which it counts from 1.
    CHECK(computed(one_one, 0, 4, 8) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
    CHECK(computed(one_one, 1, 4, 8) == "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
    CHECK(computed(one_one, 2, 4, 8) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7");
    CHECK(computed(one_one, 3, 4, 8) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
    CHECK(computed(one_one, 0, 4, 2) == "F0 F1 B0 B1");
}

TEST_CASE("what a stage receives comes before it computes, and what it sends behind") {
    const std::vector<StageOp> expected{
        {StageAct::receive_forward, 0},  {StageAct::forward, 0},  {StageAct::send_forward, 0},
        {StageAct::receive_forward, 1},  {StageAct::forward, 1},  {StageAct::send_forward, 1},
        {StageAct::receive_backward, 0}, {StageAct::backward, 0}, {StageAct::send_backward, 0},
        {StageAct::receive_backward, 1}, {StageAct::backward, 1}, {StageAct::send_backward, 1}};
    const bool as_expected = model::stage_ops(one_one, 1, 3, 2) == expected;
    CHECK(as_expected);
    const std::vector<StageOp> alone{{StageAct::forward, 0}, {StageAct::backward, 0}};
    const bool sends_nothing = model::stage_ops(one_one, 0, 1, 1) == alone;
    CHECK(sends_nothing);
}

TEST_CASE("no stage waits for ever, and none keeps more micro-batches than is said") {
    for (const auto schedule : {one_one, gpipe}) {
        for (std::int64_t stages = 1; stages <= 6; ++stages) {
            for (std::int64_t count = 1; count <= 9; ++count) {
                INFO(name(schedule) << ", " << stages << " stages, " << count << " micro-batches");
                const auto made = simulate(schedule, stages, count);
                CHECK(made.ends);
                for (std::int64_t stage = 0; stage < stages; ++stage) {
                    const auto kept = made.kept[static_cast<std::size_t>(stage)];
                    CHECK(kept == model::most_kept(schedule, stage, stages, count));
                    if (schedule == one_one) CHECK(kept <= stages);
                }
            }
        }
    }
}

TEST_CASE("stages wait for as long as they are more than one of all micro-batches and stages") {
    CHECK(model::bubble_share(1, 8) == 0.0);
    CHECK(model::bubble_share(4, 8) == Approx(3.0 / 11.0));
    CHECK(model::bubble_share(4, 32) == Approx(3.0 / 35.0));
}
