#include "core/kernel/config/derive.h"

#include <algorithm>
#include <set>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/layer_pattern.h"
#include "core/kernel/config/mesh_checks.h"
#include "core/kernel/config/metric_names.h"
#include "core/kernel/config/shadow_checks.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/config/table.h"

namespace switchyard::config {
namespace {

using Key = std::string;

std::string text(std::int64_t value) { return std::to_string(value); }

// Where `assignment` sets an option of a bare id: the names "plugin/id" under which that option stands
// already. It comes later than what was written there, so that it holds for them too.
std::vector<std::string> full_names_beside(const Config& config, const Assignment& assignment) {
    std::vector<std::string> names;
    const auto& bare = assignment.component;
    if (bare.empty() || bare.find('/') != std::string::npos) return names;
    for (const auto& [component, options] : config.slot(*kind_of_options(assignment.key)).options) {
        const auto slash = component.find('/');
        if (slash != std::string::npos && component.substr(slash + 1) == bare &&
            options.has(assignment.option))
            names.push_back(component);
    }
    return names;
}

class Deriver {
public:
    // From a model of an unknown type nothing can be concluded either.
    Deriver(Reading& reading, bool complete)
        : reading_(reading), complete_(complete && reading.doubtful.count("model.type") == 0) {}

    Config run(const OptionSchemas* schemas) {
        if (schemas != nullptr) fill_options(*schemas);
        for (const auto& assignment : reading_.assignments) {
            apply(config_, assignment);
            config_.origins[full_key(assignment)] = assignment.origin;
            for (const auto& component : full_names_beside(config_, assignment))
                config_.origins[full_key({assignment.key, component, assignment.option, {}, {}})] =
                    assignment.origin;
        }
        config_.data.sources = reading_.sources;
        config_.groups = reading_.groups;
        for (const auto& section : sections()) {
            for (const auto& field : section.fields) set_usual(field);
        }
        derive_sizes();
        if (complete_) {
            check_heads();
            check_lengths();
            check_type();
            check_quantization();
            check_task();
            check_data();
            check_keep_best();
            check_cuda_graph();
            check_decoding_graph();
            for (const auto& mistakes : {mesh_mistakes(config_), shadow_mistakes(config_)})
                for (const auto& mistake : mistakes)
                    require(false, mistake.keys, mistake.message, mistake.expected);
            resolve_rules();
        }
        return std::move(config_);
    }

private:
    bool written(const Key& key) const {
        const auto origin = config_.origins.find(key);
        return origin != config_.origins.end() && origin->second.source != Origin::Source::standard;
    }
    bool doubtful(const Key& key) const { return reading_.doubtful.count(key) > 0; }

    void fill_options(const OptionSchemas& schemas) {
        for (const auto& [id, schema] : schemas)
            config_.slot(id.first).options[id.second] = default_options(schema.options);
    }

    void set_usual(const Field& field) {
        if (field.notes.usual.empty() || written(field.key)) return;
        field.set(config_, default_value(field, config_.model.type));
        config_.origins[field.key] = {.name = std::string(name(config_.model.type))};
    }

    void follow(const Key& key, std::int64_t& target, std::int64_t value) {
        if (written(key)) return;
        target = value;
        config_.origins[key] = {.name = std::string(find_field(key)->notes.derived)};
    }

    void derive_sizes() {
        ModelConfig& model = config_.model;
        follow("model.decoder_layers", model.decoder_layers, model.type == ModelType::t5 ? model.layers : 0);
        follow("model.kv_heads", model.kv_heads, model.heads);
        follow("model.head_dim", model.head_dim, model.hidden_size / model.heads);
        follow("model.intermediate_size", model.intermediate_size, 4 * model.hidden_size);
        follow("batch.max_length", config_.batch.max_length, model.max_positions);
        if (config_.batch.tokens > 0 && !written("batch.size")) {
            config_.batch.size = std::min(config_.batch.tokens,
                                          static_cast<std::int64_t>(*find_field("batch.size")->limits.max));
            config_.origins["batch.size"] = {.name = "batch.tokens"};
        }
    }

    // A mistake in `keys` together, told at the first of them that was written; says nothing if one of
    // them is in doubt.
    void require(bool good, const std::vector<Key>& keys, const std::string& message,
                 const std::string& expected, const std::string& hint = {}) {
        if (good || std::ranges::any_of(keys, [this](const Key& key) { return doubtful(key); })) return;
        const auto place = std::ranges::find_if(keys, [this](const Key& key) { return written(key); });
        const Key& key = place == keys.end() ? keys.front() : *place;
        report(written(key) ? config_.origins[key] : Origin{}, key, message, expected, hint);
    }

    void report(const Origin& origin, const Key& key, const std::string& message, const std::string& expected,
                const std::string& hint = {}) {
        const std::string prefix = origin.source == Origin::Source::preset ? "preset " : "";
        reading_.problems.push_back(
            {prefix + origin.name, origin.line, origin.column, key, message, expected, hint});
    }

    void check_heads() {
        const ModelConfig& m = config_.model;
        require(written("model.head_dim") || m.hidden_size % m.heads == 0,
                {"model.heads", "model.hidden_size", "model.type"},
                text(m.heads) + " heads do not divide a hidden_size of " + text(m.hidden_size),
                "a divisor of hidden_size, or model.head_dim to be given");
        require(m.heads % m.kv_heads == 0, {"model.kv_heads", "model.heads"},
                text(m.kv_heads) + " kv_heads do not divide " + text(m.heads) + " heads",
                "a divisor of model.heads");
        require(m.positions != Positions::rotary || m.head_dim % 2 == 0,
                {"model.head_dim", "model.positions", "model.heads"},
                "rotary positions turn pairs of channels, head_dim is " + text(m.head_dim),
                "an even head_dim");
        check_rotary();
    }

    void check_rotary() {
        const ModelConfig& m = config_.model;
        require(m.rotary_scaling == RotaryScaling::none || m.positions == Positions::rotary,
                {"model.rotary_scaling", "model.positions"},
                "only rotary positions are scaled, not " + std::string(name(m.positions)),
                "model.positions = \"rotary\", or this key left out");
        require(
            m.rotary_scaling != RotaryScaling::llama3 || m.rotary_low_freq_factor < m.rotary_high_freq_factor,
            {"model.rotary_high_freq_factor", "model.rotary_low_freq_factor"},
            "is not above rotary_low_freq_factor", "rotary_low_freq_factor < rotary_high_freq_factor");
    }

    void check_lengths() {
        const ModelConfig& m = config_.model;
        const BatchConfig& batch = config_.batch;
        const std::string positions = text(m.max_positions) + " positions";
        require(batch.min_length <= batch.max_length, {"batch.min_length", "batch.max_length"},
                "min_length " + text(batch.min_length) + " is above max_length " + text(batch.max_length),
                "min_length <= max_length");
        require(batch.max_length <= m.max_positions, {"batch.max_length", "model.max_positions"},
                "sequences of " + text(batch.max_length) + " tokens do not fit into " + positions,
                "max_length <= model.max_positions");
        require(!batch.fit || batch.tokens == 0, {"batch.size", "batch.tokens"},
                "batch.tokens limits a batch already", "batch.tokens left out, or batch.size a number");
        require(m.prefix <= m.max_positions, {"model.prefix", "model.max_positions"},
                "a prefix of " + text(m.prefix) + " tokens is longer than " + positions,
                "prefix <= model.max_positions");
    }

    void check_type() {
        const ModelConfig& m = config_.model;
        const std::string type(name(m.type));
        const bool t5 = m.type == ModelType::t5;
        require(!t5 || m.decoder_layers >= 1, {"model.decoder_layers"}, "a t5 has a decoder", "at least 1");
        require(t5 || m.decoder_layers == 0, {"model.decoder_layers", "model.type"},
                "a " + type + " has one stack, of model.layers layers",
                "model.type = \"t5\", or this key left out");
        require(m.segments == 0 || m.type == ModelType::bert, {"model.segments", "model.type"},
                "only a bert has segments, not a " + type, "model.type = \"bert\", or this key left out");
        require(m.prefix == 0 || m.type == ModelType::gpt, {"model.prefix", "model.type"},
                "only a causal decoder has a prefix, not a " + type, "model.type = \"gpt\", or prefix = 0");
        for (const Phase phase : config_.run.phases) {
            const bool generates = phase == Phase::prefill || phase == Phase::decode;
            require(!generates || m.type != ModelType::bert, {"run.phases", "model.type"},
                    "a bert does not generate: it has no phase " + std::string(name(phase)),
                    "train, eval or both");
        }
    }

    void check_quantization() {
        const auto& how = config_.quantization;
        require(how.group % 16 == 0, {"quantization.group"},
                text(how.group) + " columns are no multiple of 16", "a multiple of 16, or 0 for whole rows");
        require(!how.given() || config_.lora.rank == 0, {"quantization.method", "lora.rank"},
                "weights in few bits have no adapters", "lora.rank = 0, or a model that is not quantized");
    }

    void check_task() {
        const auto kind = config_.task.kind;
        const bool gpt = kind == TaskKind::causal_lm, t5 = kind == TaskKind::seq2seq;
        const auto wanted = gpt ? ModelType::gpt : t5 ? ModelType::t5 : ModelType::bert;
        const auto type = config_.model.type;
        std::string expected = "causal_lm";
        if (type == ModelType::t5) expected = "seq2seq";
        if (type == ModelType::bert) {
            expected =
                "masked_lm, classification, token_classification, next_sentence, regression or multi_label";
        }
        require(wanted == type, {"task.kind", "model.type"},
                "a " + std::string(name(type)) + " is not trained for " + std::string(name(kind)),
                expected + ", or model.type = \"" + std::string(name(wanted)) + '"');
        std::set<std::string> labels;
        for (const auto& label : config_.task.labels) {
            require(!label.empty(), {"task.labels"}, "a label is empty", "a name for each class");
            require(labels.insert(label).second, {"task.labels"},
                    "the label " + toml_string(label) + " appears twice", "a name for each class");
        }
        const bool values = config_.task.float_labels();
        require(!values || config_.loss.label_smoothing == 0.0, {"loss.label_smoothing", "task.kind"},
                std::string(name(kind)) + " has no classes of which one is right", "label_smoothing = 0");
        require(!values || config_.loss.z_loss == 0.0, {"loss.z_loss", "task.kind"},
                std::string(name(kind)) + " has no log-normalizer", "z_loss = 0");
        // What is recorded of a run has the key, so that it stays one.
        require(config_.loss.ignore_index == LossConfig().ignore_index, {"loss.ignore_index"},
                "the data mark with -100 what has no label, and a class of this number would count nothing",
                "-100, or this key left out");
        const bool own_loss = !config_.loss.custom.empty();
        require(!own_loss || (config_.loss.label_smoothing == 0.0 && config_.loss.z_loss == 0.0),
                {"loss.function"}, "label_smoothing and z_loss are parts of cross-entropy",
                "label_smoothing = 0 and z_loss = 0, or function = \"auto\"");
        require(config_.data.label_separator.empty() || kind == TaskKind::multi_label,
                {"data.label_separator", "task.kind"}, std::string(name(kind)) + " has one label in a column",
                "task.kind = \"multi_label\"");
        require(!config_.task.project_all || config_.task.predicts_tokens(),
                {"task.project_all", "task.kind"},
                "only words are projected, " + std::string(name(kind)) + " has classes",
                "false, or a task.kind that predicts words");
    }

    void check_data() {
        const DataConfig& data = config_.data;
        const auto kind = config_.task.kind;
        const bool packed = data.blocks == Blocks::packed_lm;
        require(!packed || config_.batch.layout == Layout::packed, {"data.blocks", "batch.layout"},
                "texts in one block are kept apart in the packed layout only",
                "batch.layout = \"packed\", or data.blocks = \"fixed\"");
        require(!packed || config_.batch.min_length == 1, {"data.blocks", "batch.min_length"},
                "the end of a block may leave one token of a text", "batch.min_length = 1");
        const bool spans = data.targets == Targets::spans;
        require(!spans || kind == TaskKind::seq2seq, {"data.targets", "task.kind"},
                "spans are cut out for a seq2seq model, not for " + std::string(name(kind)),
                "task.kind = \"seq2seq\", or data.targets left out");
        const bool text = kind == TaskKind::masked_lm || kind == TaskKind::causal_lm || (spans && !packed);
        require(data.blocks == Blocks::none || text, {"data.blocks", "task.kind", "data.targets"},
                "samples of " + std::string(name(kind)) + " do not come in " +
                    std::string(name(data.blocks)) + " blocks",
                "data.blocks = \"none\"");
        const bool lm = kind == TaskKind::masked_lm || kind == TaskKind::causal_lm || spans;
        require(data.on_long != LongText::split || lm, {"data.on_long", "task.kind"},
                "a part of a text of " + std::string(name(kind)) +
                    " need not have the label or the answer of the whole text",
                "\"truncate\" or \"error\"; texts of language models can be split");
        require(!data.mask_whole_words || kind == TaskKind::masked_lm, {"data.mask_whole_words", "task.kind"},
                std::string(name(kind)) + " hides no words", "false, or task.kind = \"masked_lm\"");
        require(!data.mask_whole_words || data.tokenizer != TokenizerKind::smiles,
                {"data.mask_whole_words", "data.tokenizer"}, "a molecule has no words", "false");
        check_sources();
        require(data.mask_token_share + data.mask_random_share <= 1.0,
                {"data.mask_token_share", "data.mask_random_share"},
                "the two shares are more than one together", "a sum of at most 1");
    }

    void check_sources() {
        const DataConfig& data = config_.data;
        if (data.sources.empty() || doubtful("data.source")) return;
        const auto refuse = [&](bool bad, const SourceConfig& source, const std::string& message,
                                const std::string& expected) {
            if (bad) report(source.origin, "data.source", message, expected);
        };
        const auto& first = data.sources.front();
        refuse(!data.train.empty(), first, "there is data.train, too", "one of both");
        refuse(!data.target_train.empty(), first, "lines of two files are not drawn by weight",
               "data.target_column, or data.train instead of sources");
        const auto kind = config_.task.kind;
        const bool one_label = kind == TaskKind::classification ||
                               (kind == TaskKind::regression && config_.task.labels.empty()) ||
                               (kind == TaskKind::multi_label && !data.label_separator.empty());
        std::set<std::string> shown;
        for (const auto& source : data.sources) {
            refuse(!shown.insert(source.shown_name()).second, source,
                   "two sources are called " + toml_string(source.shown_name()), "a `name` for each");
            refuse(!source.label_column.empty() && !one_label, source,
                   "a source has a label_column of its own, but samples of " + std::string(name(kind)) +
                       " do not have their label in one column here",
                   "label_column left out");
            refuse(!source.text_column.empty() && kind == TaskKind::token_classification, source,
                   "columns of words are those of [data]", "data.text_column");
        }
    }

    // A metric that is never computed, and what needs one.
    void check_keep_best() {
        const TrainConfig& train = config_.train;
        require(train.eval_answers == 0 ||
                    (config_.task.kind == TaskKind::seq2seq && config_.data.targets == Targets::texts),
                {"train.eval_answers", "task.kind", "data.targets"}, "there are no texts to answer with",
                "task.kind = \"seq2seq\" with data.targets = \"texts\", or eval_answers = 0");
        require(train.patience == 0 || !train.keep_best.empty(), {"train.patience", "train.keep_best"},
                "there is no metric that could get better",
                "train.keep_best, as in \"eval.loss\", or patience = 0");
        require(train.min_delta == 0.0 || train.patience > 0, {"train.min_delta", "train.patience"},
                "it is for train.patience, which is 0", "train.patience above 0, or min_delta = 0");
        if (train.keep_best.empty()) return;
        const auto metric = kept_metric(train);
        auto known = metric_names(config_);
        const bool is_known = std::ranges::count(known, metric) > 0;
        const auto near = is_known ? "" : suggest(metric.empty() ? train.keep_best : metric, known);
        const std::string key = "train.keep_best";
        require(is_known, {key, "task.kind", "task.labels", "loss.projection"},
                toml_string(train.keep_best) + " is no metric of " + std::string(name(config_.task.kind)) +
                    (config_.loss.projection ? " with loss.projection" : ""),
                "eval." + base::joined(known, ", eval."),
                did_you_mean(near.empty() ? "" : toml_string("eval." + near)));
        require(train.eval_every > 0, {key, "train.eval_every"},
                "only the end is evaluated, so that no checkpoint is better than another",
                "train.eval_every above 0");
        require(!config_.data.eval.empty() || config_.data.eval_fraction > 0.0,
                {key, "data.eval_fraction", "data.eval"}, "no text is held out for evaluation",
                "files in data.eval, or data.eval_fraction above 0");
    }

    void check_graph_device(const Key& key) {
        require(config_.run.device == Device::cuda, {key, "run.device"}, "a CPU has no CUDA graphs",
                "false, or run.device = \"cuda\"");
    }

    // A graph reads and writes the memory that it was captured with.
    void check_decoding_graph() {
        if (!config_.cache.cuda_graph) return;
        check_graph_device("cache.cuda_graph");
        require(config_.cache.kind == CacheKind::contiguous, {"cache.cuda_graph", "cache.kind"},
                "the pages of a paged cache are written to where the host says",
                "cache.kind = \"contiguous\", or cache.cuda_graph = false");
    }

    // What a captured step would do only once: draw seeds, read values on the host, count labels, run
    // backward's random state again.
    void check_cuda_graph() {
        if (!config_.train.cuda_graph) return;
        const ModelConfig& m = config_.model;
        const auto refuse = [this](bool good, const Key& key, const std::string& message,
                                   const std::string& expected) {
            require(good, {key, "train.cuda_graph"}, message, expected + ", or train.cuda_graph = false");
        };
        check_graph_device("train.cuda_graph");
        refuse(
            m.dropout == 0.0, "model.dropout",
            "the seed of dropout comes from the host in each step, a captured step would drop the same again",
            "model.dropout = 0");
        refuse(
            m.attention_dropout == 0.0, "model.attention_dropout",
            "the seed of dropout comes from the host in each step, a captured step would drop the same again",
            "model.attention_dropout = 0");
        refuse(config_.batch.layout == Layout::padded, "batch.layout",
               "lengths of packed sequences are read on the host", "batch.layout = \"padded\"");
        refuse(!config_.precision.loss_scaling.value_or(false), "precision.loss_scaling",
               "the loss scale is kept on the host and follows what a step overflowed",
               "precision.loss_scaling = false");
        refuse(config_.train.recompute == Recompute::none, "train.recompute",
               "recomputation sets the random state from the host", "train.recompute = \"none\"");
        refuse(!config_.task.predicts_tokens() || config_.task.project_all, "task.project_all",
               "how many positions have a label decides about shapes within the step",
               "task.project_all = true");
        refuse(config_.train.nonfinite != Nonfinite::skip || config_.optimizer.max_grad_norm > 0.0,
               "train.nonfinite",
               "a captured step looks at gradients before it changes anything only where it clips",
               "optimizer.max_grad_norm above 0");
    }

    void resolve_rules() {
        if (doubtful("model.layers") || doubtful("model.decoder_layers")) return;
        for (auto& rule : reading_.rules) {
            auto [layers, message, expected] = match_layers(rule.match, config_.model);
            if (!message.empty()) report(rule.origin, "layer.match", message, expected);
            rule.layers = std::move(layers);
        }
        config_.layers = std::move(reading_.rules);
    }

    Reading& reading_;
    const bool complete_;
    Config config_;
};

}  // namespace

void apply(Config& config, const Assignment& assignment) {
    if (assignment.component.empty()) return find_field(assignment.key)->set(config, assignment.value);
    auto& options = config.slot(*kind_of_options(assignment.key)).options;
    for (const auto& component : full_names_beside(config, assignment))
        options[component].set(assignment.option, assignment.value);
    options[assignment.component].set(assignment.option, assignment.value);
}

Config derive(Reading& reading, const OptionSchemas* schemas, bool complete) {
    return Deriver(reading, complete).run(schemas);
}

}  // namespace switchyard::config
