#include <switchyard/compare/stacks/layer_bench.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>
#include <nlohmann/json.hpp>

#include <switchyard/compare/bench/bench_report.h>
#include <switchyard/compare/bench/bench_tensors.h>
#include <switchyard/compare/measure/memory.h>
#include <switchyard/compare/measure/peak_meter.h>
#include <switchyard/compare/measure/text_table.h>
#include <switchyard/host/calling/guard.h>
#include <switchyard/model/auto_precision.h>
#include <switchyard/model/layer.h>
#include <switchyard/model/planning.h>

namespace switchyard::compare {

namespace {

const c10::Device cpu(c10::DeviceType::CPU);

config::Config one_layer(const config::Config& config, const BackendStack& stack, bool dropout) {
    config::Config result = with_stack(config, stack);
    result.run.phases = {Phase::train};
    if (!dropout) result.model.dropout = result.model.attention_dropout = 0.0;
    return result;
}

// One stack, bound, with a leaf as its input.
class Contestant {
public:
    Contestant(const config::Config& config, const config::LayerId& id, const BackendStack& stack,
               bool dropout, host::Registry& registry, const HostInfo& host,
               const resolver::ResolveOptions& choice)
        : config_(one_layer(config, stack, dropout)),
          plan_(model::make_plan(config_, registry, host, choice)) {
        config_ = model::with_precision_of(config_, plan_);
        for (const auto& row : plan_.rows) {
            const bool ours = std::find(std::begin(layer_kinds), std::end(layer_kinds), row.use.kind) !=
                              std::end(layer_kinds);
            if (ours && !row.chosen) throw std::invalid_argument(row.use.slot + ": " + row.error);
        }
        const auto seed = static_cast<std::uint64_t>(config.run.seed);
        layer_ = std::make_unique<model::Layer>(config_, id, plan_, registry, host, seed);
        const std::vector<std::int64_t> sizes{config.batch.size, config.batch.max_length,
                                              config.model.hidden_size};
        x_ = random_normal(sizes, DType::float32, seed, 1000).requires_grad_(true);
        grad_out_ = random_normal(sizes, DType::float32, seed, 1001);
        leaves_ = {x_};
        for (const auto& parameter : layer_->parameters()) leaves_.push_back(parameter.value);
    }

    // Output and the gradient of the input.
    std::pair<at::Tensor, at::Tensor> run() {
        const at::Tensor out = (*layer_)(x_, step_++);
        return {out.detach(),
                torch::autograd::grad({out}, leaves_, {grad_out_.to(out.scalar_type())}).front()};
    }

    const model::Layer& layer() const { return *layer_; }

private:
    config::Config config_;
    resolver::Plan plan_;
    std::unique_ptr<model::Layer> layer_;
    std::vector<at::Tensor> leaves_;
    at::Tensor x_, grad_out_;
    std::uint64_t step_ = 0;
};

double relative(const at::Tensor& value, const at::Tensor& base) {
    const at::Tensor exact = base.to(at::kDouble);
    return std::sqrt((value.to(at::kDouble) - exact).square().mean().item<double>() /
                     exact.square().mean().item<double>());
}

std::string ran_text(const host::BindingBase& binding) {
    std::string text = binding.plugin() == binding.component() ? binding.component()
                                                               : binding.plugin() + "/" + binding.component();
    char mark = '@';
    for (const auto& [variant, calls] : binding.executed().calls()) {
        if (!variant.empty()) text += mark + variant;
        mark = '+';
    }
    return text;
}

// Products of projections and attention: one forward, two backward.
double layer_flops(const config::ModelConfig& m, std::int64_t batch, std::int64_t length,
                   config::Stack stack) {
    const auto B = static_cast<double>(batch), N = static_cast<double>(length),
               C = static_cast<double>(m.hidden_size);
    const auto H = static_cast<double>(m.heads), K = static_cast<double>(m.kv_heads),
               D = static_cast<double>(m.head_dim);
    const double F = static_cast<double>(m.intermediate_size), up = is_gated(m.activation) ? 2.0 * F : F;
    const double projections = 2.0 * B * N * C * ((H + 2.0 * K) * D + H * D + up + F);
    const double pairs = config::ModelConfig::causal(stack) ? N * (N + 1.0) / 2.0 : N * N;
    return 3.0 * projections + 14.0 * B * H * D * pairs;
}

}  // namespace

int LayerReport::exit_code() const {
    const auto timed =
        std::count_if(rows.begin(), rows.end(), [](const LayerRow& row) { return row.message.empty(); });
    return timed == 0 ? 2 : timed == static_cast<std::ptrdiff_t>(rows.size()) ? 0 : 1;
}

LayerReport run_layer_bench(const config::Config& config, const std::vector<BackendStack>& stacks,
                            const TimingOptions& timing, host::Registry& registry, const HostInfo& host,
                            Stopwatch& stopwatch, const resolver::ResolveOptions& choice) {
    LayerReport report;
    const config::LayerId id = config.layer_ids().front();
    const config::ModelConfig model = config.layer(id).model;
    report.layer = config::to_string(id);
    report.shape = std::to_string(config.batch.size) + "," + std::to_string(config.batch.max_length) + "," +
                   std::to_string(model.hidden_size);
    report.dropout = std::max(model.dropout, model.attention_dropout);

    std::vector<std::unique_ptr<Contestant>> contestants;
    std::vector<std::size_t> row_of_arm;
    std::vector<Arm> arms;
    std::optional<std::pair<at::Tensor, at::Tensor>> base;
    for (const BackendStack& stack : stacks) {
        LayerRow row;
        row.stack = stack.name;
        try {
            const auto results = Contestant(config, id, stack, false, registry, host, choice).run();
            if (!base) base = results;
            row.drift =
                std::max(relative(results.first, base->first), relative(results.second, base->second));
            auto contestant = std::make_unique<Contestant>(config, id, stack, true, registry, host, choice);
            contestant->run();
            row.extra_memory_bytes = extra_memory([&] { contestant->run(); }, cpu);
            for (const auto* binding : contestant->layer().bindings()) binding->executed().reset();
            report.dtype = contestant->layer().bindings().front()->request().dtype;
            arms.push_back({stack.name, [contestant = contestant.get()] { contestant->run(); }});
            contestants.push_back(std::move(contestant));
            row_of_arm.push_back(report.rows.size());
        } catch (const host::PluginError& error) {
            row.message = error.what();
        } catch (const std::invalid_argument& error) {
            row.message = error.what();
        }
        report.rows.push_back(std::move(row));
    }

    PeakMeter meter({report.dtype}, cpu, host, stopwatch);
    meter.sample();
    const TimingResult result = time_arms(arms, timing, stopwatch);
    meter.sample();
    report.peaks = meter.peaks();
    const double flops = layer_flops(model, config.batch.size, config.batch.max_length, id.stack);
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
        LayerRow& row = report.rows[row_of_arm[arm]];
        row.ms = result.arms[arm].ms;
        row.blocks = result.blocks;
        row.spoilt = result.arms[arm].spoilt;
        row.gflops = flops / row.ms.median / 1e6;
        if (row_of_arm[0] == 0) row.speedup = result.speedup_of(arm, 0);
        for (const auto* binding : contestants[arm]->layer().bindings())
            row.ran[binding->slot()] = ran_text(*binding);
    }
    return report;
}

std::string to_text(const LayerReport& report) {
    using Align = TextTable::Align;
    TextTable table({{"stack", Align::left},
                     {"ms [95 % interval]", Align::left},
                     {"GFLOP/s"},
                     {"of peak"},
                     {"memory"},
                     {"speedup [95 %]", Align::left},
                     {"", Align::left},
                     {"differs by"}});
    const double peak = report.peaks.matmul(report.dtype);
    int blocks = 0, spoilt = 0;
    for (const LayerRow& row : report.rows) {
        if (!row.message.empty()) {
            table.row({row.stack, "not timed"});
            table.note(row.message);
            continue;
        }
        const bool base = &row == &report.rows.front();
        char drift[32];
        std::snprintf(drift, sizeof drift, "%.0e", row.drift);
        table.row({row.stack, interval_text(row.ms), digits(row.gflops),
                   digits(100.0 * row.gflops / peak) + " %",
                   bytes_text(static_cast<double>(row.extra_memory_bytes)),
                   base          ? "1 (base)"
                   : row.speedup ? interval_text(*row.speedup)
                                 : "-",
                   base || !row.speedup ? "" : std::string(name(judge(*row.speedup))), base ? "" : drift});
        std::string ran;
        for (const auto& [slot, backend] : row.ran)
            ran += (ran.empty() ? "" : ", ") + slot + " by " + backend;
        table.note(ran);
        blocks = row.blocks;
        spoilt += row.spoilt;
    }
    return "one layer (" + report.layer + "), forward and backward; batch, length, hidden_size " +
           report.shape + ", " + std::string(name(report.dtype)) +
           (report.dropout > 0.0 ? ", dropout " + digits(report.dropout, 2) : "") + "\n" + table.render() +
           "  " + std::to_string(blocks) + " blocks" +
           (spoilt > 0 ? ", " + std::to_string(spoilt) + " samples spoilt and thrown away" : "") +
           "; peak: products of matrices at " + digits(peak) + " GFLOP/s in this run\n";
}

nlohmann::json to_json(const LayerReport& report) {
    nlohmann::json rows = nlohmann::json::array();
    for (const LayerRow& row : report.rows) {
        const bool timed = row.message.empty();
        nlohmann::json json{{"op", "layer"},
                            {"backend", row.stack},
                            {"message", row.message},
                            {"ran", row.ran},
                            {"shape", report.shape},
                            {"dtype", name(report.dtype)},
                            {"dropout", report.dropout},
                            {"pass", name(Pass::forward_backward)},
                            {"base", report.rows.front().stack},
                            {"blocks", row.blocks},
                            {"spoilt_samples", row.spoilt}};
        json["ms"] = timed ? to_json(row.ms) : nlohmann::json(nullptr);
        json["speedup_over_base"] = timed && row.speedup ? to_json(*row.speedup) : nlohmann::json(nullptr);
        json["gflops"] = timed ? nlohmann::json(row.gflops) : nlohmann::json(nullptr);
        json["percent_of_peak"] = timed
                                      ? nlohmann::json(100.0 * row.gflops / report.peaks.matmul(report.dtype))
                                      : nlohmann::json(nullptr);
        json["extra_memory_bytes"] = timed ? nlohmann::json(row.extra_memory_bytes) : nlohmann::json(nullptr);
        json["drift"] = timed ? nlohmann::json(row.drift) : nlohmann::json(nullptr);
        rows.push_back(std::move(json));
    }
    return {{"rows", rows},
            {"layer", report.layer},
            {"peaks", to_json(report.peaks)},
            {"exit_code", report.exit_code()}};
}

}  // namespace switchyard::compare
