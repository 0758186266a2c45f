// The keys of [run], [runtime], [plugins] and [batch].
#include <switchyard/config/table.h>

namespace switchyard::config {

std::vector<Field> run_fields() {
    using R = RunConfig;
    return {
        field<&Config::run, &R::seed>("run.seed", "seed of everything random")
            .at_least(0)
            .known_as("random_seed"),
        field<&Config::run, &R::device>("run.device", "where the model computes"),
        field<&Config::run, &R::deterministic>("run.deterministic", "same input, same bits, run after run"),
        field<&Config::run, &R::phases>(
            "run.phases", "what is planned: train, eval, prefill and decode (both gpt and t5 only)"),
    };
}

std::vector<Field> runtime_fields() {
    using R = RuntimeConfig;
    return {
        field<&Config::runtime, &R::allocator>(
            "runtime.allocator",
            "who hands out CPU memory: the caching, counting allocator, or the C library"),
        field<&Config::runtime, &R::threads>("runtime.threads",
                                             "threads of CPU operations; 0: all cores the process may use")
            .within(0, 1024)
            .known_as("num_threads n_threads"),
    };
}

std::vector<Field> plugins_fields() {
    using P = PluginsConfig;
    return {
        field<&Config::plugins, &P::paths>(
            "plugins.paths",
            "folders and libraries to search for plugins; relative to the file that names them")
            .known_as("path search_path"),
        field<&Config::plugins, &P::disabled>("plugins.disabled", "names of plugins that are not to be used")
            .known_as("disable exclude"),
    };
}

std::vector<Field> batch_fields() {
    using B = BatchConfig;
    constexpr double largest = 1 << 20;
    constexpr double longest = 1 << 28;
    return {
        field<&Config::batch, &B::size>("batch.size", "sequences in a batch")
            .within(1, largest)
            .known_as("batch_size"),
        field<&Config::batch, &B::min_length>("batch.min_length", "tokens of the shortest sequence")
            .within(1, longest),
        field<&Config::batch, &B::max_length>("batch.max_length", "tokens of the longest sequence")
            .within(1, longest)
            .from("model.max_positions")
            .known_as("max_seq_length length"),
        field<&Config::batch, &B::layout>("batch.layout",
                                          "padded: [batch, seq] with lengths; packed: sequences end to end"),
    };
}

}  // namespace switchyard::config
