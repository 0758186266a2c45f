// An arm of `switchyard compare` in C++: the training step of a BERT classifier in plain LibTorch calls,
// without a line of Switchyard. docs/compare.md describes the messages over the standard streams.
//
//     plain_libtorch [--dtype bfloat16]
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "bert_step.h"

namespace {

using Json = nlohmann::json;
using peer::Tensors;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// The factor of the learning rate at each step, counted from 0.
class Schedule {
public:
    Schedule() = default;
    explicit Schedule(const Json& schedule)
        : kind_(schedule.at("kind")), steps_(schedule.at("steps")), last_(schedule.at("final_factor")) {
        warmup_ = schedule.at("warmup_steps").get<long>();
        if (warmup_ == 0)
            warmup_ = std::llround(schedule.at("warmup_ratio").get<double>() * static_cast<double>(steps_));
    }

    double factor(long step) const {
        if (step < warmup_) return static_cast<double>(step + 1) / static_cast<double>(warmup_);
        if (kind_ == "constant" || steps_ <= warmup_) return 1.0;
        double share =
            std::min(1.0, static_cast<double>(step - warmup_) / static_cast<double>(steps_ - warmup_));
        if (kind_ == "cosine") share = (1.0 - std::cos(std::acos(-1.0) * share)) / 2.0;
        return 1.0 + (last_ - 1.0) * share;
    }

private:
    std::string kind_ = "constant";
    long steps_ = 0, warmup_ = 0;
    double last_ = 0.0;
};

peer::Model read_model(const std::string& path, const Json& task) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + " cannot be opened");
    const auto config = Json::parse(file);
    const auto need = [&](const char* key, const Json& wanted) {
        if (config.value(key, wanted) != wanted)
            throw std::runtime_error("this step is written for " + std::string(key) + " " + wanted.dump() +
                                     "; the model has " + config.at(key).dump());
    };
    need("model_type", "bert");
    need("hidden_act", "gelu");
    if (task.at("kind") != "classification")
        throw std::runtime_error("this step is written for classification");
    peer::Model model;
    model.layers = config.at("num_hidden_layers");
    model.hidden = config.at("hidden_size");
    model.heads = config.at("num_attention_heads");
    model.norm_eps = config.at("layer_norm_eps");
    model.dropout = config.at("hidden_dropout_prob");
    model.attention_dropout = config.at("attention_probs_dropout_prob");
    model.ignore_index = task.at("ignore_index");
    model.label_smoothing = task.at("label_smoothing");
    return model;
}

peer::AdamW read_optimizer(const Json& settings) {
    if (settings.at("algorithm") != "adamw") throw std::runtime_error("this step is written for AdamW");
    return {settings.at("lr"),  settings.at("betas").at(0),  settings.at("betas").at(1),
            settings.at("eps"), settings.at("weight_decay"), settings.at("max_grad_norm")};
}

// "STEP.MICRO.NAME"
std::vector<peer::StepBatches> read_batches(const std::string& path) {
    std::vector<peer::StepBatches> steps;
    for (const auto& [name, tensor] : peer::read_tensors(path)) {
        const auto first = name.find('.'), second = name.find('.', first + 1);
        const auto step = std::stoul(name), micro = std::stoul(name.substr(first + 1));
        if (steps.size() <= step) steps.resize(step + 1);
        if (steps[step].size() <= micro) steps[step].resize(micro + 1);
        auto& batch = steps[step][micro];
        const auto key = name.substr(second + 1);
        if (key == "ids") batch.ids = tensor;
        if (key == "attention_mask") batch.attention_mask = tensor;
        if (key == "token_type_ids") batch.token_type_ids = tensor;
        if (key == "labels") batch.labels = tensor;
    }
    return steps;
}

class Arm {
public:
    Arm(const Json& message, bool bfloat16)
        : schedule_(message.at("schedule")),
          batches_(read_batches(message.at("batches"))),
          step_(read_model(message.at("weights").get<std::string>() + "/config.json", message.at("task")),
                read_optimizer(message.at("optimizer")),
                peer::read_tensors(message.at("weights").get<std::string>() + "/model.safetensors"),
                bfloat16) {
        if (message.at("device") != "cpu") throw std::runtime_error("this step is written for the CPU");
        if (const int threads = message.at("threads"); threads > 0) at::set_num_threads(threads);
        at::manual_seed(message.at("seed"));
    }

    Json first(const std::string& path) {
        Tensors found;
        const double loss = step_.first(batches_.front(), found);
        if (!path.empty()) peer::write_tensors(path, found);
        return {{"loss", number(loss)}, {"first_step_written", !path.empty()}};
    }

    Json run(long steps) {
        using Clock = std::chrono::steady_clock;
        auto step_ms = Json::array(), losses = Json::array();
        std::int64_t samples = 0, tokens = 0;
        const auto before = involuntary_switches();
        for (long i = 0; i < steps; ++i, ++done_) {
            const auto& batches = batches_[static_cast<std::size_t>(done_) % batches_.size()];
            const auto start = Clock::now();
            const double loss = step_.step(batches, schedule_.factor(done_));
            step_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
            losses.push_back(number(loss));
            for (const auto& batch : batches) {
                samples += batch.ids.size(0);
                tokens += batch.attention_mask.sum().item<std::int64_t>();
            }
        }
        return {{"step_ms", step_ms},
                {"loss", losses},
                {"samples", samples},
                {"tokens", tokens},
                {"involuntary_switches", involuntary_switches() - before}};
    }

private:
    static long involuntary_switches() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_nivcsw;
    }

    Schedule schedule_;
    std::vector<peer::StepBatches> batches_;
    peer::BertStep step_;
    long done_ = 0;
};

// The answers' own descriptor: what a library prints goes to the standard error.
std::FILE* take_standard_output() {
    const int answers = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return fdopen(answers, "w");
}

void say(std::FILE* answers, const Json& message) {
    std::fputs((message.dump() + "\n").c_str(), answers);
    std::fflush(answers);
}

}  // namespace

int main(int argc, char** argv) {
    std::FILE* const answers = take_standard_output();
    const std::vector<std::string> words(argv + 1, argv + argc);
    const bool bfloat16 = words == std::vector<std::string>{"--dtype", "bfloat16"};
    if (!words.empty() && !bfloat16) {
        std::cerr << "usage: plain_libtorch [--dtype bfloat16]\n";
        return 2;
    }
    std::unique_ptr<Arm> arm;
    for (std::string line; std::getline(std::cin, line);) {
        try {
            const auto message = Json::parse(line);
            if (message.at("type") == "quit") break;
            Json report;
            if (message.at("type") == "prepare") {
                arm = std::make_unique<Arm>(message, bfloat16);
                report = arm->first(message.at("first_step_file"));
                report["description"] = "plain LibTorch calls";
                report["dtype"] = bfloat16 ? "bfloat16" : "float32";
            } else {
                if (!arm) throw std::runtime_error("got run before prepare");
                report = arm->run(message.at("steps"));
            }
            report["type"] = "report";
            say(answers, report);
        } catch (const std::exception& error) {
            say(answers, {{"type", "error"}, {"text", error.what()}});
        }
    }
    return 0;
}
