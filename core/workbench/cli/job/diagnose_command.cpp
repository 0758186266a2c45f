// switchyard diagnose CONFIG
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ATen/core/grad_mode.h>

#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/train/check/diagnosis.h"

namespace switchyard::cli {
namespace {

struct CheckOptions {
    JobOptions job;
    JsonOption json;
};

constexpr std::size_t batches_looked_at = 4;

// The parameters as they were, for the next diagnosis.
class Snapshot {
public:
    explicit Snapshot(const model::Parameters& parameters) : parameters_(parameters) {
        for (const auto& parameter : parameters.all()) values_.push_back(parameter.value.detach().clone());
    }
    void restore() const {
        const at::NoGradGuard no_grad;
        for (std::size_t i = 0; i < values_.size(); ++i) parameters_.all()[i].value.copy_(values_[i]);
    }

private:
    const model::Parameters& parameters_;
    std::vector<at::Tensor> values_;
};

std::vector<Batch> some_batches(train::Session& session) {
    std::vector<Batch> batches;
    const auto& loader = session.start_eval_loader(session.data().train);
    Batch batch;
    while (batches.size() < batches_looked_at && loader.next(batch)) batches.push_back(std::move(batch));
    return batches;
}

Text painted(train::Health health) {
    const std::string text(name(health));
    switch (health) {
        case train::Health::good:
            return paint(Color::green, text);
        case train::Health::bad:
            return paint(Color::red, text);
        case train::Health::unclear:
            return paint(Color::yellow, text);
        default:
            return paint(Color::dim, text);
    }
}

int check(const CheckOptions& options) {
    const auto planned = plan_job(options.job);
    auto& training = planned->config.train;
    training.schedule = config::ScheduleKind::constant;
    training.warmup_ratio = 0.0;
    training.warmup_steps = 0;
    train::Session session(planned->config, planned->plan, *planned->registry, planned->host);
    session.load_tokenizer();
    session.load_data();
    session.load_initial_weights();
    const Snapshot snapshot(session.parameters());

    using Diagnose = train::Diagnosis (*)(train::CheckBench&);
    constexpr Diagnose all[] = {
        train::check_lengths,   train::check_finite_activations, train::check_attention_rows,
        train::check_causality, train::check_gradients,          train::check_all_parameters,
        train::check_memory,    train::check_first_steps,        train::check_overfit};
    bool healthy = true;
    auto json = nlohmann::ordered_json::array();
    for (const auto diagnose : all) {
        show_progress("diagnose " + std::to_string(json.size() + 1) + " of " + std::to_string(std::size(all)),
                      static_cast<double>(json.size()) / static_cast<double>(std::size(all)));
        auto trainer = session.make_trainer();
        train::CheckBench bench{session, trainer, some_batches(session)};
        const auto diagnosis = diagnose(bench);
        snapshot.restore();
        show_progress("");
        healthy = healthy && diagnosis.health != train::Health::bad;
        json.push_back({{"name", diagnosis.name},
                        {"health", name(diagnosis.health)},
                        {"finding", diagnosis.finding},
                        {"advice", diagnosis.advice}});
        if (options.json.on_stdout()) continue;
        std::cout << painted(diagnosis.health) << "  " << diagnosis.name << ": " << diagnosis.finding << '\n';
        if (!diagnosis.advice.empty()) std::cout << "    try: " << diagnosis.advice << '\n';
        std::cout.flush();
    }
    write_json(options.json, {{"healthy", healthy}, {"diagnoses", json}});
    return healthy ? Exit::fine : Exit::run_failed;
}

}  // namespace

Action setup_diagnose(CLI::App& command) {
    const auto options = std::make_shared<CheckOptions>();
    add_job_options(command, options->job);
    add_json(command, options->json);
    return [options] { return check(*options); };
}

}  // namespace switchyard::cli
