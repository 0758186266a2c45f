#include "core/kernel/config/table.h"

#include <unordered_map>

#include "core/kernel/config/bind_field.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/table_job.h"

namespace switchyard::config {
namespace {

constexpr double widest = 1 << 20;
constexpr double longest = 1 << 28;

ValueLimits above(double min) { return {.min = min, .above_min = true}; }
ValueLimits one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }
ValueLimits share(std::size_t length = 0) {
    return {.min = 0, .max = 1, .below_max = true, .length = length};
}

Section run_section() {
    Rows<&Config::run> rows{{"run", "The run as a whole.", {}}};
    using R = RunConfig;
    rows.add<&R::seed>("seed", "seed of everything random", at_least(0), {.also = "random_seed"});
    rows.add<&R::device>("device", "where the model computes");
    rows.add<&R::deterministic>(
        "deterministic",
        "same input, same bits, run after run, on the same number of threads, with flash, fused and gemm's "
        "tiles on any number where the processor has AVX-512; the plan names the slots whose bits depend on "
        "that number");
    rows.add<&R::phases>("phases", "what is planned: train, eval, prefill and decode (both gpt and t5 only)",
                         {.not_empty = true});
    return rows.section;
}

Section runtime_section() {
    Rows<&Config::runtime> rows{{"runtime", "Memory and threads, the same for every backend.", {}}};
    using R = RuntimeConfig;
    rows.add<&R::allocator>("allocator",
                            "allocator of CPU memory: the caching, counting one, or that of the C library");
    rows.add<&R::threads>("threads", "threads of CPU operations; 0: all cores the process may use",
                          within(0, 1024), {.also = "num_threads n_threads"});
    rows.add<&R::auto_choice>("auto",
                              "what backend = \"auto\" chooses by: the time measured on this host, or the "
                              "priority that plugins declare; with run.deterministic always the priority");
    rows.add<&R::keep_times>("keep_times",
                             "which times of auto are kept for later runs: those taken while other programs "
                             "used less than a tenth of the processors, or always");
    rows.add<&R::spin>("spin",
                       "how long a thread without work waits awake for the next: short, so that it does not "
                       "take the processor from other programs, long (libgomp's own 3 ms), or never; "
                       "OMP_WAIT_POLICY or GOMP_SPINCOUNT in the environment goes before it");
    return rows.section;
}

Section plugins_section() {
    Rows<&Config::plugins> rows{
        {"plugins", "Where to search for plugins, and what is demanded of them.", {}}};
    using P = PluginsConfig;
    rows.add<&P::paths>("paths",
                        "folders and libraries to search for plugins; relative to the file that names them",
                        {}, {.also = "path search_path", .path = true});
    rows.add<&P::disabled>("disabled", "names of plugins that must not be used", {},
                           {.also = "disable exclude"});
    rows.add<&P::require>(
            "require",
            "plugins are used only if they are signed by a trusted key, conformant (a run of `switchyard "
            "plugins "
            "verify` passed here, or one that is signed), locked (those of the lock); those that come with "
            "Switchyard count as signed and conformant",
            {}, {.also = "requires demand trust"})
        .type = ValueType::backend;  // a name may stand alone
    rows.add<&P::trusted_keys>("trusted_keys",
                               "files of public keys that are trusted beside those in "
                               "~/.config/switchyard/trusted-keys",
                               {}, {.also = "keys public_keys", .path = true});
    rows.add<&P::lock>("lock",
                       "file of `switchyard plugins lock`, for require = \"locked\" and --locked; empty: "
                       "plugins.lock beside the configuration",
                       {}, {.also = "lock_file lockfile", .path = true});
    return rows.section;
}

// The usual forms: Devlin et al. 2018 and its published code (bert), Radford et al. 2019 and its published
// code (gpt), Raffel et al. 2020 (t5).
Section model_section() {
    Rows<&Config::model> rows{{"model", "What is computed: sizes and formulas.", {}}};
    using M = ModelConfig;
    rows.add<&M::type>("type", "bert: encoder; gpt: causal decoder; t5: encoder and decoder", {},
                       {.also = "model_type arch architecture"});
    rows.add<&M::layers>(
        "layers", "layers of the encoder, or of the decoder where there is no encoder", within(1, 1000),
        {.usual = {12, 12, 6}, .also = "num_hidden_layers num_layers n_layer n_layers encoder_layers depth"});
    rows.add<&M::decoder_layers>("decoder_layers", "layers of a t5's decoder", within(0, 1000),
                                 {.derived = "layers for t5, else 0", .also = "num_decoder_layers"});
    rows.add<&M::hidden_size>(
        "hidden_size", "width of the residual stream", within(1, widest),
        {.usual = {768, 768, 512}, .also = "d_model hidden_dim n_embd dim embed_dim width"});
    rows.add<&M::heads>("heads", "query heads", within(1, widest),
                        {.usual = {12, 12, 8}, .also = "num_attention_heads num_heads n_head n_heads nhead"});
    rows.add<&M::kv_heads>("kv_heads", "key and value heads; divides heads", within(1, widest),
                           {.derived = "heads", .also = "num_key_value_heads n_kv_heads num_kv_heads"});
    rows.add<&M::head_dim>("head_dim", "width of one head", within(1, widest),
                           {.derived = "hidden_size / heads", .also = "d_kv head_size"});
    rows.add<&M::intermediate_size>(
        "intermediate_size", "width of the feed-forward, after the gate where it is gated", within(1, widest),
        {.derived = "4 * hidden_size", .also = "d_ff ffn_dim n_inner feed_forward ffn_size mlp_dim"});
    rows.add<&M::vocab_size>("vocab_size", "tokens of the vocabulary", within(2, longest),
                             {.usual = {30522, 50257, 32128}, .also = "n_vocab vocabulary"});
    rows.add<&M::max_positions>(
        "max_positions", "tokens of the longest sequence", within(1, longest),
        {.usual = {512, 1024, 512},
         .also = "max_position_embeddings n_positions n_ctx context_length max_seq_len seq_len"});
    rows.add<&M::norm>(
        "norm", "formula of the normalizations", {},
        {.usual = {"layer_norm", "layer_norm", "rms_norm"}, .also = "normalization norm_type"});
    rows.add<&M::norm_eps>(
        "norm_eps", "added to the variance", above(0),
        {.usual = {1e-12, 1e-5, 1e-6}, .also = "layer_norm_eps rms_norm_eps layer_norm_epsilon"});
    rows.add<&M::norm_position>("norm_position", "pre: x + f(norm(x)); post: norm(x + f(x))", {},
                                {.usual = {"post", "pre", "pre"}, .also = "pre_norm post_norm"});
    rows.add_formula<&M::activation, &M::custom_activation>(
        "activation",
        "activation of the feed-forward; the glu kinds are gated, identity is none, custom:NAME is one "
        "that a plugin brings",
        {.usual = {"gelu_erf", "gelu_tanh", "relu"}, .also = "hidden_act activation_function act"});
    rows.add<&M::positions>(
        "positions", "how the model knows the order of tokens", {},
        {.usual = {"learned", "learned", "t5"}, .also = "position_embedding_type position_embeddings"});
    rows.add<&M::rotary_theta>("rotary_theta", "base of the wavelengths of rotary positions", above(0),
                               {.also = "rope_theta rotary_base"});
    rows.add<&M::rotary_scaling>("rotary_scaling",
                                 "what slows the rotations for longer sequences: linear: rotary_factor slows "
                                 "all; llama3: it slows long "
                                 "wavelengths",
                                 {}, {.also = "rope_scaling rope_type"});
    rows.add<&M::rotary_factor>("rotary_factor", "how many times slower rotary_scaling makes rotations",
                                {.min = 1}, {.also = "rope_scaling_factor"});
    rows.add<&M::rotary_low_freq_factor>(
        "rotary_low_freq_factor",
        "of llama3: wavelengths above rotary_original_positions / this are slowed by the whole factor",
        above(0), {.also = "low_freq_factor"});
    rows.add<&M::rotary_high_freq_factor>(
        "rotary_high_freq_factor",
        "of llama3: wavelengths below rotary_original_positions / this are not slowed", above(0),
        {.also = "high_freq_factor"});
    rows.add<&M::rotary_original_positions>(
        "rotary_original_positions", "of llama3: tokens of the longest sequence before it was lengthened",
        within(1, longest), {.also = "original_max_position_embeddings"});
    rows.add<&M::segments>("segments",
                           "rows of a bert's table of segments: 2 for the two texts of a pair (BERT); 1: the "
                           "same for all tokens (RoBERTa); 0: no table (DistilBERT)",
                           within(0, 2), {.usual = {2, 0, 0}, .also = "type_vocab_size"});
    rows.add<&M::pooler>("pooler",
                         "activation between the two linear layers of a bert's classifier of texts: tanh "
                         "(BERT, RoBERTa) or relu (DistilBERT)");
    rows.add<&M::bias>("bias", "linear layers and LayerNorm have a bias", {},
                       {.usual = {true, true, false}, .also = "use_bias"});
    rows.add<&M::tie_embeddings>("tie_embeddings", "the output projection is the embedding table", {},
                                 {.also = "tie_word_embeddings"});
    rows.add<&M::dropout>("dropout",
                          "dropout of embeddings, of the feed-forward and before each residual sum", share(),
                          {.also = "hidden_dropout_prob resid_pdrop dropout_rate", .per_layer = true});
    rows.add<&M::attention_dropout>(
        "attention_dropout", "dropout of attention probabilities", share(),
        {.also = "attention_probs_dropout_prob attn_pdrop attn_dropout", .per_layer = true});
    rows.add<&M::window>(
        "window",
        "keys that a query attends to, up to and including its own, in an encoder as many after it; 0: all",
        within(0, longest), {.also = "sliding_window", .per_layer = true});
    rows.add<&M::prefix>("prefix",
                         "first tokens of a sequence that all its tokens attend to; gpt only; 0: none",
                         within(0, longest));
    rows.add<&M::soft_cap>("soft_cap", "attention scores become soft_cap * tanh(score / soft_cap); 0: no cap",
                           at_least(0), {.also = "attn_logit_softcapping", .per_layer = true});
    return rows.section;
}

Section batch_section() {
    Rows<&Config::batch> rows{
        {"batch", "Shapes of the batches; a component is bound once for the whole range.", {}}};
    using B = BatchConfig;
    ValueLimits sizes = within(1, widest);
    sizes.choices = {"fit"};
    Field& size = rows.add<&B::size>("size",
                                     "sequences in a batch; with batch.tokens the most of them; fit: train "
                                     "looks for the largest that memory has room for",
                                     std::move(sizes), {.also = "batch_size"});
    size.get = [](const Config& config) {
        return config.batch.fit ? Value(std::string("fit")) : Value(config.batch.size);
    };
    size.set = [](Config& config, const Value& value) {
        const auto* number = std::get_if<std::int64_t>(&value);
        config.batch.fit = number == nullptr;
        if (number != nullptr) config.batch.size = *number;
    };
    rows.add<&B::tokens>("tokens",
                         "tokens of a batch, source, target and padding: data loaders with a composition of "
                         "their own fill batches up to it; 0: batches have batch.size sequences",
                         within(0, widest * 64), {.also = "token_budget max_tokens"});
    rows.add<&B::min_length>("min_length", "tokens of the shortest sequence", within(1, longest));
    rows.add<&B::max_length>("max_length", "tokens of the longest sequence", within(1, longest),
                             {.derived = "model.max_positions", .also = "max_seq_length length"});
    rows.add<&B::pad_multiple>("pad_multiple",
                               "padded rows are as long as the longest, rounded up to a multiple of it",
                               within(1, 65536), {.also = "pad_to_multiple_of"});
    rows.add<&B::layout>("layout",
                         "padded: [batch, seq] with lengths; packed: sequences end to end; auto: the one in "
                         "which samples of this job take less time, measured on this host",
                         {.choices = {"padded", "packed", "auto"}});
    return rows.section;
}

// What all slots have.
template <auto Slot>
Rows<Slot> slot(Kind kind, std::string_view help) {
    Rows<Slot> rows{{std::string(name(kind)), help, {}}};
    const Notes notes{.per_layer = facts_of(kind).per_layer};
    rows.template add<&SlotConfig::backend>("backend",
                                            "the component that computes it: [plugin/]component[@variant], a "
                                            "list in order of preference, or \"auto\"",
                                            {.not_empty = true}, notes)
        .type = ValueType::backend;
    rows.template add<&SlotConfig::allow_reduced>(
        "allow_reduced", "allow components of reduced accuracy, which declare a bound of their error", {},
        notes);
    return rows;
}

template <auto SectionMember>
Section shadow_section(Kind kind) {
    Section section{std::string(name(kind)) + ".shadow",
                    "A candidate that runs beside that component on some training steps, is compared and "
                    "timed, and changes nothing.",
                    {}};
    Field backend{{.key = section.name + ".backend",
                   .type = ValueType::backend,
                   .default_value = std::vector<std::string>(),
                   .help = "the candidate, named as in backend, or a list in order of preference; []: none"},
                  {.also = "candidate component"},
                  [](const Config& config) { return Value((config.*SectionMember).shadow.backend); },
                  [](Config& config, const Value& value) {
                      (config.*SectionMember).shadow.backend = std::get<std::vector<std::string>>(value);
                  }};
    Field every{{.key = section.name + ".every",
                 .type = ValueType::integer,
                 .default_value = ShadowConfig().every,
                 .limits = within(1, longest),
                 .help = "it runs on step 1 and on every step that is so many later"},
                {.also = "interval steps every_steps"},
                [](const Config& config) { return Value((config.*SectionMember).shadow.every); },
                [](Config& config, const Value& value) {
                    (config.*SectionMember).shadow.every = std::get<std::int64_t>(value);
                }};
    section.fields = {std::move(backend), std::move(every)};
    return section;
}

Section loss_section() {
    auto rows = slot<&Config::loss>(Kind::loss, "The component that computes the loss.");
    using L = LossConfig;
    rows.add<&L::projection>(
        "projection", "compute output projection and loss in one operation, without ever holding all logits");
    rows.add<&L::label_smoothing>("label_smoothing", "share of the target spread over all classes", share());
    rows.add<&L::z_loss>("z_loss", "factor of the squared log-normalizer added to the loss", at_least(0));
    rows.add<&L::ignore_index>("ignore_index",
                               "label of the rows that the loss ignores: always -100, as the data have it");
    Field& function = rows.add<&L::custom>(
        "function",
        "what training makes smaller; auto: cross-entropy, the mean squared error or binary cross-entropy, "
        "as the task has it; custom:NAME: one that a plugin brings",
        {.choices = {"auto"}, .custom = true}, {.also = "name type criterion"});
    function.default_value = "auto";
    function.get = [](const Config& config) {
        return Value(config.loss.custom.empty() ? "auto"
                                                : formula_name(LossKind::custom, config.loss.custom));
    };
    function.set = [](Config& config, const Value& value) {
        config.loss.custom = custom_name(std::get<std::string>(value));
    };
    return rows.section;
}

Section optimizer_section() {
    auto rows = slot<&Config::optimizer>(Kind::optimizer,
                                         "The component that updates the parameters, and the update rule.");
    using O = OptimizerConfig;
    rows.add_formula<&O::algorithm, &O::custom>(
        "algorithm",
        "update rule, custom:NAME for one that a plugin brings; `backend` is the component that computes it; "
        "muon orthogonalizes each parameter of two or more dimensions, embeddings and output layers too, and "
        "the others get an AdamW step",
        {.also = "name type"});
    rows.add<&O::lr>("lr", "learning rate", at_least(0), {.also = "learning_rate"});
    rows.add<&O::betas>("betas", "decay of the two moments (adamw, adam, lion, lamb)", share(2),
                        {.also = "beta1 beta2 adam_beta1 adam_beta2"});
    rows.add<&O::eps>("eps", "added to the denominator (adamw, adam, lamb)", above(0),
                      {.also = "epsilon adam_epsilon"});
    rows.add<&O::weight_decay>("weight_decay", "decoupled, or L2 for adam and sgd", at_least(0));
    rows.add<&O::momentum>("momentum", "sgd and muon", share());
    rows.add<&O::nesterov>("nesterov", "Nesterov's form of the momentum (sgd, muon)");
    rows.add<&O::max_grad_norm>("max_grad_norm", "gradients are clipped to this global norm; 0: never",
                                at_least(0),
                                {.also = "clip grad_clip clip_grad_norm max_norm gradient_clipping"});
    return rows.section;
}

Section precision_section() {
    auto rows = slot<&Config::precision>(Kind::precision, "The dtypes in which the model computes.");
    using P = PrecisionConfig;
    rows.add<&P::parameter_dtype>(
        "parameter_dtype", "dtype in which the model stores its parameters; auto: as the policy requires",
        one_of({"auto", "float32", "float64", "bfloat16", "float16"}), {.also = "dtype torch_dtype"});
    rows.add<&P::compute_dtype>(
        "compute_dtype",
        "dtype that attention, normalization, activation and loss are planned for; auto: as the policy says",
        one_of({"auto", "float32", "float64", "bfloat16", "float16"}), {.also = "autocast amp"});
    rows.add<&P::loss_scaling>("loss_scaling", "the policy scales the loss; auto: where its range needs that",
                               {}, {.also = "loss_scale"});
    return rows.section;
}

Section data_loader_section() {
    auto rows =
        slot<&Config::data_loader>(Kind::data_loader, "The component that turns samples into batches.");
    rows.add<&DataLoaderConfig::shuffle>("shuffle", "a new order in every epoch, a function of run.seed");
    rows.add<&DataLoaderConfig::drop_last>("drop_last", "leave out a last batch that is smaller");
    return rows.section;
}

Section cache_section() {
    Rows<&Config::cache> rows{
        {"cache", "Where a model that generates keeps keys and values of earlier tokens.", {}}};
    using C = CacheConfig;
    rows.add<&C::kind>("kind",
                       "contiguous: each row has memory of its own, for its longest; paged: rows take pages "
                       "from a pool as they grow, and rows that begin alike share them");
    rows.add<&C::dtype>(
        "dtype",
        "what keys and values are stored in; auto: what attention computes in, and never wider "
        "than that; int8 has a scale for each token and head",
        one_of({"auto", "float32", "bfloat16", "float16", "int8"}), {.also = "kv_cache_dtype cache_dtype"});
    rows.add<&C::page_size>("page_size", "tokens of a page of a paged cache", within(1, 65536),
                            {.also = "block_size"});
    rows.add<&C::step_tokens>("step_tokens",
                              "most new tokens of a row in one decoding call; what is planned and measured "
                              "for: 1, or what speculation appends at once",
                              within(1, 128));
    rows.add<&C::cuda_graph>(
        "cuda_graph",
        "on cuda: capture decoding steps into graphs, one for each shape and each 64 tokens of a contiguous "
        "cache, and replay them");
    return rows.section;
}

std::vector<Section> make_sections() {
    return {
        run_section(),
        runtime_section(),
        plugins_section(),
        model_section(),
        batch_section(),
        cache_section(),
        task_section(),
        data_section(),
        train_section(),
        distributed_section(),
        mesh_section(),
        lora_section(),
        quantization_section(),
        log_section(),
        slot<&Config::attention>(Kind::attention, "The component that computes softmax(q k^T) v.").section,
        shadow_section<&Config::attention>(Kind::attention),
        slot<&Config::normalization>(
            Kind::normalization,
            "The component that normalizes, with the residual sum and dropout before it.")
            .section,
        shadow_section<&Config::normalization>(Kind::normalization),
        slot<&Config::activation>(Kind::activation,
                                  "The component that computes the activation of the feed-forward.")
            .section,
        shadow_section<&Config::activation>(Kind::activation),
        slot<&Config::linear>(Kind::linear, "The component that multiplies the matrices of linear layers.")
            .section,
        shadow_section<&Config::linear>(Kind::linear),
        loss_section(),
        shadow_section<&Config::loss>(Kind::loss),
        optimizer_section(),
        precision_section(),
        data_loader_section()};
}

}  // namespace

const std::vector<Section>& sections() {
    static const std::vector<Section> made = make_sections();
    return made;
}

const Field* find_field(std::string_view key) {
    static const auto index = [] {
        std::unordered_map<std::string_view, const Field*> made;
        for (const auto& section : sections()) {
            for (const auto& field : section.fields) made.emplace(field.key, &field);
        }
        return made;
    }();
    const auto found = index.find(key);
    return found == index.end() ? nullptr : found->second;
}

const Field* find_renamed(std::string_view key) {
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) {
            if (!field.notes.formerly.empty() &&
                key == section.name + '.' + std::string(field.notes.formerly))
                return &field;
        }
    }
    return nullptr;
}

Value default_value(const Field& field, ModelType type) {
    const auto& usual = field.notes.usual;
    return usual.empty() ? field.default_value : usual[static_cast<std::size_t>(type)];
}

std::string value_text(const ValueSpec& spec, const Value& value) {
    const auto* list = std::get_if<std::vector<std::string>>(&value);
    if (spec.type == ValueType::backend && list != nullptr && list->size() == 1)
        return toml_string(list->front());
    const auto* text = std::get_if<std::string>(&value);
    const bool is_switch = text != nullptr && !spec.limits.choices.empty() && is_switch_word(*text);
    return is_switch ? *text : to_toml(value);
}

std::optional<Kind> kind_of_options(std::string_view path) {
    constexpr std::string_view suffix = ".options";
    if (!path.ends_with(suffix)) return std::nullopt;
    return parse<Kind>(path.substr(0, path.size() - suffix.size()));
}

}  // namespace switchyard::config
