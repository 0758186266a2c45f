#include "core/workbench/scale/scale_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/mesh_checks.h"
#include "core/workbench/scale/divided_step.h"
#include "core/workbench/scale/tensor_sums.h"

namespace switchyard::scale {
namespace {

constexpr std::int64_t mebibyte = 1024 * 1024;

// Operations of backward that come before the gradient of each trained parameter, since that of the next one:
// its own products, those of attention before that of the values' projection, and those of frozen ones.
std::vector<double> backward_flops(const std::vector<model::DescribedParameter>& parameters,
                                   const std::vector<Flops>& flops, const Trained& trained) {
    std::vector<double> before;
    double since = 0.0;
    for (std::size_t i = parameters.size(); i-- > 0;) {
        since += flops[i].backward;
        if (!is_trained(trained, parameters[i].name)) continue;
        before.push_back(since);
        since = 0.0;
    }
    std::ranges::reverse(before);
    return before;
}

double compute_rate(const ScaleSettings& settings) {
    const auto& rates = settings.rates;
    const double tflops = size_of(settings.multiplied_in) == 2 ? rates.tflops_bfloat16 : rates.tflops_float32;
    if (tflops > 0.0) return tflops * 1e9 * settings.utilization;  // a millisecond
    throw base::InputError(
        "error: how long a step of one rank takes is not known: say what you measured (--step-ms), or plan "
        "for "
        "a host whose description has [speed] (--host h100)");
}

// `flops`: of backward, before each gradient.
StepCosts costs_of(const config::Config& config, const ScaleSettings& settings, const StagePlan& stage,
                   const std::vector<double>& flops) {
    const auto accumulated = static_cast<double>(config.train.grad_accumulation_steps);
    const double step_flops = accumulated * stage.flops().all();
    StepCosts costs;
    // AdamW's step reads a parameter, its gradient and two moments, and writes all but the gradient.
    if (settings.rates.memory_gbytes_per_second > 0.0)
        costs.optimizer_ms =
            28.0 * static_cast<double>(stage.trained) / (settings.rates.memory_gbytes_per_second * 1e6);
    const double all =
        settings.step_ms ? *settings.step_ms : step_flops / compute_rate(settings) + costs.optimizer_ms;
    costs.optimizer_ms = std::min(costs.optimizer_ms, all / 2.0);
    const double products_ms = all - costs.optimizer_ms;
    // Only the last of several backwards sums gradients up: all before it is as if forward were longer.
    const double last = products_ms * stage.backward_flops / step_flops;
    costs.forward_ms = products_ms - last;
    const double sum = std::accumulate(flops.begin(), flops.end(), 0.0);
    for (const double one : flops) costs.backward_ms.push_back(sum > 0.0 ? last * one / sum : 0.0);
    return costs;
}

void need_network(const ScaleSettings& settings) {
    const auto& network = settings.rates.network;
    const bool across = settings.ranks > network.ranks_per_host;
    if (across ? network.between.known() : network.within.known()) return;
    throw base::InputError(
        "error: what joins " + std::to_string(settings.ranks) + " ranks is not known" +
        (across && network.within.known() ? ": a host has " + std::to_string(network.ranks_per_host) +
                                                " of them, and no link between hosts"
                                          : std::string()) +
        "; say it (--network GBYTES_PER_SECOND,LATENCY_US), or plan for a host whose description has "
        "[network] (--host h100)");
}

// Of ranks that have the same part of each layer, one of `apart` that are neighbours.
Collectives spread(const Network& network, bool trees, std::int64_t apart) {
    auto own = network;
    own.ranks_per_host = std::max<std::int64_t>(1, network.ranks_per_host / apart);
    return {own, trees};
}

// Of stages, which lie furthest apart: on one host only where all ranks are.
Collectives over_stages(const ScaleSettings& settings) {
    auto own = settings.rates.network;
    if (settings.ranks > own.ranks_per_host) own.ranks_per_host = 1;
    return {own, settings.trees};
}

// What the slowest stage waits for the others, and sends them.
void add_pipeline(ScalePlan& plan, StepCosts& costs, const config::Config& config) {
    const auto stages = static_cast<std::int64_t>(plan.stages.size());
    if (stages == 1) return;
    const auto traffic = stage_traffic(config, plan.settings.multiplied_in, plan.settings.trained);
    const Collectives collectives{plan.settings.rates.network, plan.settings.trees};
    const auto& link = collectives.slowest(plan.settings.ranks);
    const auto& slowest = plan.stages[static_cast<std::size_t>(config.distributed.stage.index)];
    const double micro_batch_ms =
        (costs.all_ms() - costs.optimizer_ms) / static_cast<double>(plan.micro_batches);
    PipelineCosts each;
    each.micro_batches = plan.micro_batches;
    each.schedule = config.distributed.schedule;
    each.send_ms = static_cast<double>(traffic.tensors) *
                   (link.latency_us / 1e3 + traffic.bytes / (link.gbytes_per_second * 1e6));
    for (const auto& stage : plan.stages) {
        each.forward_ms.push_back(micro_batch_ms * stage.micro_batch_flops / slowest.flops().all());
        each.backward_ms.push_back(micro_batch_ms * stage.backward_flops / slowest.flops().all());
    }
    const auto time = simulate_pipeline(each);
    plan.bubble = time.bubble();
    for (std::size_t i = 0; i < plan.stages.size(); ++i) plan.stages[i].waits_ms = time.waits_ms[i];
    const double shared_ms = traffic.shared_by > 1 ? all_reduce_ms(traffic.shared_bytes, traffic.shared_by,
                                                                   over_stages(plan.settings))
                                                   : 0.0;
    costs.waits_ms += slowest.waits_ms + shared_ms;
    costs.forward_ms += slowest.waits_ms + shared_ms;
    const auto own = config.distributed.stage.index;
    const auto neighbours = (own > 0 ? 1 : 0) + (own + 1 < stages ? 1 : 0);
    const auto sent = neighbours * plan.micro_batches * traffic.tensors;
    const auto others = traffic.shared_by - 1;
    plan.messages += sent + 2 * others;
    plan.sent_bytes +=
        static_cast<double>(sent) * traffic.bytes +
        2.0 * static_cast<double>(others) / static_cast<double>(traffic.shared_by) * traffic.shared_bytes;
}

// Of a batch that is as large as it may be, as its activations and its operations are counted.
std::int64_t samples_of(const config::BatchConfig& batch) {
    return batch.tokens > 0 ? batch.most_tokens() / batch.max_length : batch.size;
}

std::vector<std::int64_t> numbers_of_ranks(std::int64_t asked) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t ranks = 1; ranks < asked; ranks *= 2) numbers.push_back(ranks);
    numbers.push_back(asked);
    return numbers;
}

}  // namespace

ScalePlan plan_scale(const config::Config& whole, const ScaleSettings& settings) {
    if (auto problem = config::mesh_problem(whole, settings.ranks); !problem.empty())
        throw base::InputError(problem);
    need_network(settings);
    ScalePlan plan;
    plan.settings = settings;
    plan.tensor_ranks = whole.mesh.tensor;
    auto config = whole;
    config.distributed.part = {0, plan.tensor_ranks};
    config.distributed.stage = {0, whole.mesh.pipeline};
    const auto data_ranks = settings.ranks / (plan.tensor_ranks * whole.mesh.pipeline);
    // Ranks that all have other parts of one model have nothing to divide.
    if (data_ranks == 1 && data_ranks < settings.ranks) config.distributed.shard = config::Sharding::none;
    plan.micro_batches = config.train.grad_accumulation_steps;
    const auto products = product_flops_of(config, settings.trained);
    plan.stages = stage_plans(config, settings.multiplied_in, data_ranks, products, settings.trained);
    plan.memory =
        std::ranges::max_element(plan.stages, {}, [](const auto& one) { return one.memory.all(); })->memory;
    const auto slowest =
        std::ranges::max_element(plan.stages, {}, [](const auto& one) { return one.flops().all(); });
    config.distributed.stage.index = slowest - plan.stages.begin();
    const auto parameters = parameters_of_stage(config);
    const auto flops = flops_of_parameters(products, parameters);
    const auto units = divided_units(config, parameters, flops, settings.trained);
    plan.step_flops = slowest->flops().all() * static_cast<double>(config.train.grad_accumulation_steps);
    plan.samples = samples_of(config.batch) * config.train.grad_accumulation_steps;
    auto costs = costs_of(config, settings, *slowest, backward_flops(parameters, flops, settings.trained));
    const auto accumulated = config.train.grad_accumulation_steps;
    const auto sums = tensor_sums(config, settings.multiplied_in);
    const Collectives neighbours{settings.rates.network, settings.trees};
    add_sums(costs, sums, accumulated, all_reduce_ms(sums.bytes, plan.tensor_ranks, neighbours),
             sums.loss_bytes > 0.0 ? all_gather_ms(sums.loss_bytes, plan.tensor_ranks, neighbours) : 0.0);

    add_pipeline(plan, costs, config);
    const auto bytes =
        static_cast<std::int64_t>(size_of(config.precision.parameter_dtype.value_or(DType::float32)));
    std::vector<std::int64_t> gradients;
    for (const auto& parameter : parameters)
        if (is_trained(settings.trained, parameter.name)) gradients.push_back(values_of(parameter) * bytes);
    const auto limit =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(config.distributed.bucket_mb * mebibyte));
    const auto buckets = make_buckets(gradients, std::min(mebibyte, limit), limit);
    const bool rounded = config.distributed.compression == config::Compression::bfloat16 && bytes > 2;
    const double wire_share = rounded ? 2.0 / static_cast<double>(bytes) : 1.0;
    const auto all_bytes =
        static_cast<double>(std::accumulate(gradients.begin(), gradients.end(), std::int64_t{0}));
    const auto collectives = spread(settings.rates.network, settings.trees, plan.tensor_ranks);
    if (config.distributed.shard == config::Sharding::full) {
        const DividedCosts own{units,
                               bytes,
                               config.train.grad_accumulation_steps,
                               costs.all_ms() - costs.optimizer_ms,
                               costs.optimizer_ms,
                               costs.waits_ms};
        for (const auto ranks : numbers_of_ranks(data_ranks))
            plan.steps.push_back(simulate_divided_step(own, ranks, collectives, wire_share));
        const auto sent = sent_in_divided_step(own, data_ranks, wire_share);
        plan.messages += sent.messages;
        plan.sent_bytes += sent.bytes;
    } else {
        const bool divided = config.distributed.shard == config::Sharding::optimizer;
        if (divided) costs.gathered_bytes = all_bytes;
        for (const auto ranks : numbers_of_ranks(data_ranks))
            plan.steps.push_back(simulate_step(costs, buckets, ranks, collectives, wire_share));
        const auto others = data_ranks - 1;
        plan.messages += others * (2 * static_cast<std::int64_t>(buckets.size()) + (divided ? 1 : 0));
        plan.sent_bytes += static_cast<double>(others) / static_cast<double>(data_ranks) * all_bytes *
                           (2.0 * wire_share + (divided ? 1.0 : 0.0));
    }
    for (auto& step : plan.steps) step.ranks *= plan.model_ranks();
    const auto in_layers = sums.all(accumulated), other_parts = plan.tensor_ranks - 1;
    const auto gathers = sums.loss_bytes > 0.0 ? accumulated : 0;
    plan.messages += other_parts * (2 * in_layers + gathers);
    plan.sent_bytes +=
        static_cast<double>(other_parts) / static_cast<double>(plan.tensor_ranks) *
        (2.0 * sums.bytes * static_cast<double>(in_layers) + sums.loss_bytes * static_cast<double>(gathers));
    return plan;
}

}  // namespace switchyard::scale
