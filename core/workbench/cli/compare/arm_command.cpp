// switchyard-run arm: one arm of `switchyard compare`, which answers requests on its standard streams as
// docs/compare.md says. Not for people.
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/next_line.h"
#include "core/kernel/resolver/measured.h"
#include "core/workbench/cli/answer_pipe.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/compare/compare_command.h"
#include "core/workbench/cli/error_text.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/train/other_ranks.h"
#include "core/workbench/compare/arms/arm_server.h"

namespace switchyard::cli {
namespace {

using base::Json;

// What is planned, and what is made of it: the second refers to the first.
struct Prepared {
    std::unique_ptr<PlannedJob> job;
    std::unique_ptr<distributed::Group> group;  // of several ranks
    std::unique_ptr<compare::ArmServer> arm;
    bool generates = false;
};

// Which rank of an arm this process is, and where it meets the others.
struct ArmPlace {
    std::int64_t rank = 0, ranks = 1;
    int port = 0, listening = -1;
};

// The times by which the coordinator's `auto` chose. Those that this program cannot read, as those of another
// build, count nothing.
std::vector<resolver::Measurement> measured_times(const Json& message) {
    std::vector<resolver::Measurement> list;
    if (!message.contains("measured")) return list;
    for (const auto& one : base::needed_list(message, "measured")) {
        auto read = resolver::read_measurement(one.dump());
        if (read.error.empty()) list.push_back(std::move(read.measurement));
    }
    return list;
}

Prepared prepare(const Json& message, const ArmPlace& place) {
    Prepared prepared;
    JobOptions options;
    options.config = base::needed_text(message, "config");
    for (const auto& one : base::needed_list(message, "overrides"))
        options.overrides.push_back(base::shown(one));
    options.trust = message.contains("trust") && base::needed_flag(message, "trust");
    options.locked = message.contains("locked") && base::needed_flag(message, "locked");
    options.of_run = message.contains("of_run") && base::needed_flag(message, "of_run");
    compare::ArmServerOptions arm;
    const auto operation = parse<compare::Operation>(base::needed_text(message, "operation"));
    if (!operation) throw Failure("\"operation\" is " + base::text_of(message, "operation"));
    arm.operation = *operation;
    prepared.generates = arm.operation == compare::Operation::generate;
    arm.samples = base::needed_integer(message, "samples");
    arm.first_step_file = base::needed_text(message, "first_step_file");
    arm.export_folder = base::text_of(message, "export_folder");
    arm.export_weights = !message.contains("export_weights") || base::needed_flag(message, "export_weights");
    arm.cycle = message.contains("cycle") ? base::needed_integer(message, "cycle") : 0;
    arm.eval_samples = message.contains("eval_samples") ? base::needed_integer(message, "eval_samples") : 0;
    arm.slowed = message.contains("slowed") ? base::needed_number(message, "slowed") : 0.0;
    arm.amplification = message.contains("amplification") && base::needed_flag(message, "amplification");
    if (const auto lengths = base::text_of(message, "lengths"); !lengths.empty()) {
        if (const auto error = bench::read_lengths(lengths, arm.lengths); !error.empty())
            throw Failure(error);
    }
    if (message.contains("workloads")) {
        for (const auto& one : base::needed_list(message, "workloads"))
            arm.workloads.push_back(compare::read_workload(one));
        arm.cached = base::needed_flag(message, "cached");
    }
    const auto purpose = !arm.inference()                   ? Purpose::as_configured
                         : prepared.generates && arm.cached ? Purpose::generation
                                                            : Purpose::inference;
    PlanOptions plan{.purpose = purpose, .restart = Restart::refused, .measured = measured_times(message)};
    if (!arm.inference()) plan.place = distributed::Place{place.rank, place.ranks};
    prepared.job = plan_job(options, plan);
    auto& job = *prepared.job;
    if (place.ranks > 1) {
        prepared.group = join_arm(place.rank, place.ranks, place.port, place.listening, job.config);
        arm.group = prepared.group.get();
    }
    prepared.arm = compare::make_arm_server(job.config, job.plan, *job.registry, job.host, arm);
    return prepared;
}

// Of the files that an arm writes; all ranks compute what stands in them.
Json without_files(Json message) {
    message["first_step_file"] = "";
    message["export_folder"] = "";
    return message;
}

class Arm {
public:
    Json answer(const Json& message) {
        const auto type = base::needed_text(message, "type");
        if (type == "prepare") return prepare_all(message);
        if (others_) others_->tell(message, 0);
        return together([&] { return act(message, type); });
    }

private:
    Json prepare_all(const Json& message) {
        prepared_ = {};  // the memory of the one before
        ArmPlace place;
        distributed::Meeting meeting;
        if (message.contains("ranks")) place.ranks = base::needed_integer(message, "ranks");
        if (message.contains("rank")) {
            place.rank = base::needed_integer(message, "rank");
            place.port = static_cast<int>(base::needed_integer(message, "port"));
        } else if (place.ranks > 1) {
            meeting = distributed::open_meeting();
            place.port = meeting.port;
            place.listening = meeting.socket.take();  // the store's
            if (!others_ || others_->ranks() != place.ranks)
                others_ = std::make_unique<OtherRanks>(place.ranks);
            others_->tell(without_files(message), place.port);
        }
        return together([&] {
            prepared_ = prepare(message, place);
            return Json(compare::to_message(prepared_.arm->prepare()));
        });
    }

    // What this rank does, and then whether the others did it too.
    template <class Act>
    Json together(const Act& act) {
        if (!others_) return act();
        Json answer;
        try {
            answer = act();
        } catch (const distributed::RankLost& error) {
            const auto why = others_->said_meanwhile();
            throw Failure(why.empty() ? error.what() : why, Exit::run_failed);
        }
        others_->hear();
        return answer;
    }

    Json act(const Json& message, const std::string& type);

    std::unique_ptr<OtherRanks> others_;  // of the first rank of several
    Prepared prepared_;
};

Json Arm::act(const Json& message, const std::string& type) {
    auto& prepared = prepared_;
    if ((type != "run" && type != "observe" && type != "evaluate") || !prepared.arm)
        throw Failure("expected prepare, then run, observe or evaluate; got " + type);
    if (type == "observe") return compare::to_message(prepared.arm->observe());
    if (type == "evaluate") return compare::to_message(prepared.arm->evaluate());
    const auto steps = base::needed_integer(message, "steps");
    prepared.arm->choose(message.contains("workload")
                             ? static_cast<std::size_t>(base::needed_integer(message, "workload"))
                             : 0);
    if (prepared.generates) return compare::to_message(prepared.arm->generate(steps));
    return compare::to_message(prepared.arm->run(steps));
}

int serve() {
    const AnswerPipe answers;
    if (!answers) return Exit::run_failed;
    Arm arm;
    std::string line;
    for (base::Line read;
         (read = base::next_line(*std::cin.rdbuf(), line, base::limits::json_bytes)) != base::Line::none;) {
        try {
            if (read == base::Line::too_long)
                throw Failure("standard input: the line is longer than " +
                              std::to_string(base::limits::json_bytes) + " bytes, the most that is read");
            const auto message = base::parse_object(line, "standard input");
            if (base::text_of(message, "type") == "quit") break;
            answers.say(arm.answer(message));
        } catch (const std::exception& error) {
            answers.say({{"type", "error"}, {"text", error_text(error.what(), "compare")}});
        }
    }
    return Exit::fine;
}

}  // namespace

Command arm_command() {
    return {"arm",
            "one arm of a comparison",
            {"switchyard compare configs/demo.toml --vary attention.backend=naive,torch"},
            [](CLI::App&) -> Action { return serve; }};
}

}  // namespace switchyard::cli
