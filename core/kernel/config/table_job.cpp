#include "core/kernel/config/table_job.h"

#include "core/kernel/config/bind_field.h"

namespace switchyard::config {
namespace {

constexpr double most_steps = 1e12;
constexpr double most_epochs = 1e6;

}  // namespace

Section task_section() {
    Rows<&Config::task> rows{{"task", "What the model is trained and evaluated for.", {}}};
    using T = TaskConfig;
    rows.add<&T::kind>(
        "kind", "what the model is trained for; causal_lm needs a gpt, seq2seq a t5, the others a bert", {},
        {.usual = {"masked_lm", "causal_lm", "seq2seq"}, .also = "objective"});
    rows.add<&T::labels>("labels",
                         "names of the classes, in the order of their numbers; regression: the columns to "
                         "predict, none for data.label_column alone",
                         {}, {.also = "classes label_names"});
    rows.add<&T::standardize>("standardize",
                              "regression: learn values less the training data's mean, divided by their "
                              "standard deviation; what is predicted and reported is in units of the data");
    rows.add<&T::project_all>("project_all",
                              "compute logits for every position, not only for those with a label");
    return rows.section;
}

Section data_section() {
    Rows<&Config::data> rows{{"data", "Where samples come from.", {}}};
    using D = DataConfig;
    rows.add<&D::train>(
        "train",
        "training files, folders or patterns such as \"reviews/*.csv.gz\": .txt, .smi, .tsv, .csv, .jsonl or "
        ".tab, plain, .gz, .bz2 or .zst, or .parquet; relative to the file that names them",
        {}, {.also = "files train_files", .path = true});
    rows.add<&D::eval>("eval", "evaluation files; none: a part of data.train, see eval_fraction", {},
                       {.also = "validation valid dev test", .path = true});
    rows.add<&D::stopping>("stopping",
                           "[[data.source]]: an epoch ends when a first source has given all its samples and "
                           "none comes twice, or when all have and the others began again",
                           {}, {.also = "stopping_strategy"});
    rows.add<&D::eval_fraction>("eval_fraction",
                                "share of the texts held out by a hash of the text, where eval names no "
                                "file; 0: none, and nothing is evaluated",
                                within(0, 0.9), {.also = "eval_share validation_split"});
    rows.add<&D::text_column>("text_column", "column of the text; \"#0\" is the first", {}, {.also = "text"});
    rows.add<&D::pair_column>("pair_column", "column of a second text; empty: none");
    rows.add<&D::label_column>("label_column", "column of the label, its name or its number", {},
                               {.also = "label"});
    rows.add<&D::label_separator>(
        "label_separator",
        "multi_label: what stands between the names in label_column; empty: each of task.labels is a "
        "column of 0 and 1",
        {}, {.also = "separator label_delimiter"});
    rows.add<&D::targets>("targets",
                          "seq2seq: a second text (target_column or target_train), or the spans cut out of "
                          "the text (span_share)");
    rows.add<&D::target_column>("target_column", "seq2seq: column of the target text", {},
                                {.also = "target"});
    rows.add<&D::target_train>(
        "target_train", "seq2seq: files with a target line for each line of data.train", {}, {.path = true});
    rows.add<&D::target_eval>("target_eval", "seq2seq: likewise for data.eval", {}, {.path = true});
    rows.add<&D::documents>("documents",
                            "language models: what one text is; paragraphs and files are for plain text", {},
                            {.also = "document"});
    rows.add<&D::blocks>("blocks",
                         "language models: each text a sample, or texts end to end in blocks of "
                         "batch.max_length tokens, with (packed_lm) or without (fixed) a mask between texts",
                         {}, {.also = "packing"});
    rows.add<&D::bad_row>("bad_row",
                          "a malformed row: stop with an error, or skip it, count it and list it in "
                          "skipped.jsonl of the run",
                          {}, {.also = "on_error on_bad_row on_bad_lines"});
    rows.add<&D::other_label>("other_label", "a row whose label is not in task.labels: likewise");
    rows.add<&D::on_long>(
        "on_long",
        "a text that does not fit into batch.max_length tokens: cut it, stop with an error, or, "
        "for language models, split it into several samples; cut and split ones are counted",
        {}, {.also = "truncation overflow"});
    rows.add<&D::tokenizer>(
        "tokenizer",
        "auto: by the name of data.vocabulary, or the one in the folder of train.weights; wordpiece: BERT's, "
        "vocab.txt; bytes: each byte a token; smiles: tokens of molecules; huggingface: tokenizer.json; "
        "gpt2: "
        "vocab.json with merges.txt beside it; sentencepiece: a .model");
    rows.add<&D::vocabulary>(
        "vocabulary",
        "file of the tokenizer (or a GGUF file, which has one), or a folder with it, relative to the file "
        "that "
        "names it; if it is empty, "
        "bytes needs none, smiles makes one from data.train, the others look into train.weights",
        {}, {.also = "vocab vocab_file tokenizer_file", .path = true});
    rows.add<&D::lower_case>("lower_case",
                             "a vocab.txt that is uncased: lower case, no accents; do_lower_case of a "
                             "tokenizer_config.json in the "
                             "tokenizer's folder goes before it",
                             {}, {.also = "do_lower_case uncased"});
    rows.add<&D::mask_share>("mask_share", "masked_lm: share of the tokens to predict", within(0, 1),
                             {.also = "mlm_probability"});
    rows.add<&D::mask_token_share>("mask_token_share", "of these: share replaced by the mask token",
                                   within(0, 1));
    rows.add<&D::mask_random_share>("mask_random_share", "of these: share replaced by another token",
                                    within(0, 1));
    rows.add<&D::mask_whole_words>("mask_whole_words",
                                   "masked_lm: choose words instead of tokens, with all pieces of each", {},
                                   {.also = "whole_word_masking wwm"});
    rows.add<&D::span_share>("span_share", "targets = \"spans\": share of the tokens that are cut out",
                             within(0, 0.9), {.also = "noise_density"});
    rows.add<&D::span_length>("span_length", "targets = \"spans\": mean tokens of a span", within(1, 1000),
                              {.also = "mean_noise_span_length"});
    rows.add<&D::max_rows>("max_rows", "rows read of each file; 0: all", at_least(0));
    return rows.section;
}

Section train_section() {
    Rows<&Config::train> rows{{"train", "How long training takes, and what it records.", {}}};
    using T = TrainConfig;
    rows.add<&T::epochs>("epochs", "passes over the training data; a part of one is allowed",
                         {.min = 0, .max = most_epochs, .above_min = true},
                         {.also = "num_epochs num_train_epochs"});
    rows.add<&T::steps>("steps", "optimizer steps; 0: as many as epochs needs", within(0, most_steps),
                        {.also = "max_steps"});
    rows.add<&T::grad_accumulation_steps>("grad_accumulation_steps", "batches of one optimizer step",
                                          within(1, 65536),
                                          {.also = "gradient_accumulation_steps accumulate"});
    rows.add<&T::schedule>("schedule", "shape of the learning rate after the warm-up", {},
                           {.also = "lr_scheduler lr_schedule"});
    rows.add<&T::warmup_ratio>("warmup_ratio", "share of the steps in which the learning rate rises linearly",
                               within(0, 1), {.also = "warmup warmup_share warmup_proportion"});
    rows.add<&T::warmup_steps>("warmup_steps",
                               "steps in which the learning rate rises linearly, whatever warmup_ratio "
                               "says; 0: as many as that says",
                               within(0, most_steps), {.also = "num_warmup_steps warmup_iters"});
    rows.add<&T::final_factor>("final_factor",
                               "factor of the learning rate at the end, for linear and cosine", within(0, 1));
    rows.add<&T::ema>("ema",
                      "decay of a moving average of the weights, such as 0.999: after each step the average "
                      "is ema times itself and 1 - ema times the weights; it is what is evaluated, kept as "
                      "the best and left in model; 0: the weights themselves",
                      {.min = 0, .max = 1, .below_max = true}, {.also = "ema_decay weight_averaging polyak"});
    rows.add<&T::weights>(
        "weights",
        "initial weights: a Hugging Face folder, a safetensors file or a GGUF file, relative to "
        "the file that names it; empty: the paper's initialisation",
        {}, {.also = "pretrained init_from", .path = true});
    rows.add<&T::recompute>(
        "recompute",
        "what backward computes again instead of keeping it: less memory for more time, the same gradients",
        {}, {.also = "activation_checkpointing gradient_checkpointing checkpoint_activations"});
    rows.add<&T::recompute_every>("recompute_every", "recompute in every n-th layer only", within(1, 1000));
    rows.add<&T::cuda_graph>(
        "cuda_graph",
        "on cuda: capture whole steps into graphs, one for each shape of batches, and replay them; "
        "a job whose steps cannot be captured is refused with the reason",
        {}, {.also = "cuda_graphs use_cuda_graph"});
    rows.add<&T::nonfinite>("nonfinite",
                            "where a loss or gradient is not finite: stop with an error, skip the step, or "
                            "rewind to the last checkpoint "
                            "and continue with the data after it; steps that a loss scale skips do not count",
                            {}, {.also = "nan on_nan skip_nonfinite terminate_on_nan"});
    rows.add<&T::max_rewinds>("max_rewinds", "rewinds of a run before it stops with an error",
                              within(1, 1000));
    rows.add<&T::log_every>("log_every", "steps between two lines of metrics", at_least(1));
    rows.add<&T::eval_every>("eval_every", "steps between two evaluations; 0: at the end only", at_least(0));
    rows.add<&T::checkpoint_every>("checkpoint_every",
                                   "steps between two checkpoints; 0: by time, at the end and when stopped",
                                   at_least(0), {.also = "save_every save_steps"});
    rows.add<&T::checkpoint_minutes>("checkpoint_minutes",
                                     "also save a checkpoint when the last one is this old; 0: never by time",
                                     at_least(0), {.also = "save_minutes checkpoint_interval"});
    rows.add<&T::keep_last>("keep_last", "number of newest checkpoints to keep", within(1, 1000),
                            {.also = "save_total_limit", .formerly = "keep_checkpoints"});
    rows.add<&T::keep_best>(
        "keep_best",
        "also keep the checkpoint of the best evaluation: \"eval.\" and the name of a metric, as in "
        "\"eval.accuracy\"; empty: none",
        {}, {.also = "metric_for_best_model load_best_model_at_end monitor save_best"});
    rows.add<&T::eval_answers>(
        "eval_answers",
        "how many texts a seq2seq answers in each evaluation, the first ones, for BLEU "
        "and chrF; 0: none",
        at_least(0));
    rows.add<&T::patience>("patience",
                           "evaluations in a row that are not better by train.keep_best, after which "
                           "training ends; 0: it goes on to its last step",
                           at_least(0), {.also = "early_stopping_patience early_stopping"});
    rows.add<&T::min_delta>("min_delta",
                            "for train.patience: an evaluation is better if it is by more than this",
                            at_least(0), {.also = "early_stopping_threshold"});
    return rows.section;
}

Section distributed_section() {
    Rows<&Config::distributed> rows{
        {"distributed",
         "How the processes of one training, its ranks, work together (docs/distributed.md).",
         {}}};
    using D = DistributedConfig;
    rows.add<&D::backend>(
        "backend", "who sums up gradients over the ranks; auto: nccl where run.device is cuda, else gloo",
        {.choices = {"auto", "gloo", "nccl"}}, {.also = "process_group_backend dist_backend"});
    rows.add<&D::timeout>(
        "timeout",
        "seconds that a rank waits for the others in a step, and without a sign of life of one, before it "
        "ends, naming who is missing",
        {.min = 0, .max = 86400, .above_min = true}, {.also = "ddp_timeout timeout_seconds"});
    rows.add<&D::interface>("interface",
                            "network interface that ranks talk over, such as eth0, NCCL too unless "
                            "NCCL_SOCKET_IFNAME is set; empty: that of the host's name, or the loopback "
                            "where all ranks are on this machine",
                            {}, {.also = "GLOO_SOCKET_IFNAME NCCL_SOCKET_IFNAME network_interface"});
    rows.add<&D::lr_scaling>("lr_scaling",
                             "learning rate with several ranks, whose batches are one: as it stands there, "
                             "times the number of ranks, or times its square root",
                             {}, {.also = "scale_lr lr_scale"});
    rows.add<&D::bucket_mb>(
        "bucket_mb", "megabytes of gradients that are summed up at once, while backward makes the next",
        {.min = 0, .max = 65536, .above_min = true}, {.also = "bucket_cap_mb"});
    rows.add<&D::compression>("compression",
                              "what gradients are rounded to on their way between ranks; none: they travel "
                              "as they are",
                              {}, {.also = "gradient_compression comm_hook"});
    rows.add<&D::shard>(
        "shard",
        "what is divided over the ranks instead of being on each: nothing; the optimizer's "
        "state (ZeRO-1), of which each rank then steps its part and hands the parameters to "
        "the others; or parameters and gradients as well (full: ZeRO-3), gathered layer by layer in forward "
        "and once more in backward",
        {}, {.also = "fsdp zero zero_stage sharding_strategy zero_redundancy_optimizer"});
    rows.add<&D::sequence_parallel>(
        "sequence_parallel",
        "with mesh.tensor: norms and dropout between blocks are divided over its ranks by tokens, instead of "
        "being the same on each",
        {}, {.also = "sp enable_sequence_parallel use_sequence_parallel"});
    rows.add<&D::schedule>(
        "schedule",
        "order of the micro-batches in a pipeline of ranks: each backward as soon as it can be, so that "
        "a rank keeps the activations of as many as there are ranks at most; or all of them after all "
        "forwards",
        {}, {.also = "pipeline_schedule"});
    return rows.section;
}

Section mesh_section() {
    Rows<&Config::mesh> rows{{"distributed.mesh",
                              "Ranks as a grid: what of them share batches, and what the layers of a model; "
                              "their product is the number of ranks.",
                              {}}};
    using M = MeshConfig;
    constexpr double most = 65536;
    rows.add<&M::data>(
        "data", "groups of ranks that take samples of their own of each batch; 0: as many as there are",
        within(0, most), {.also = "data_parallel dp dp_size replicas"});
    rows.add<&M::tensor>("tensor",
                         "ranks that have a part of each layer, of its heads and of the width of its "
                         "feed-forward (tensor parallel); 1: layers are whole",
                         within(1, most), {.also = "tensor_parallel tp tp_size tensor_model_parallel_size"});
    rows.add<&M::pipeline>("pipeline",
                           "ranks that have a range of the layers each, through which a step's micro-batches "
                           "(train.grad_accumulation_steps) pass; 1: a rank has all layers",
                           within(1, most),
                           {.also = "pipeline_parallel pp pp_size stages pipeline_model_parallel_size"});
    return rows.section;
}

Section lora_section() {
    Rows<&Config::lora> rows{
        {"lora", "Adapters of low rank beside linear layers of a model that is not trained itself.", {}}};
    using L = LoraConfig;
    rows.add<&L::rank>("rank", "rank of the adapters; 0: none, the model itself is trained", within(0, 65536),
                       {.also = "r lora_r"});
    rows.add<&L::alpha>("alpha", "what an adapter adds is multiplied by alpha / rank",
                        {.min = 0, .above_min = true}, {.also = "lora_alpha"});
    rows.add<&L::targets>(
        "targets",
        "linear layers of the stacks that get an adapter, as `switchyard model --parameters` "
        "names them without .weight; * stands for any characters",
        {.not_empty = true}, {.also = "target_modules"});
    rows.add<&L::trained>("trained", "parameters that are trained whole beside the adapters, likewise", {},
                          {.also = "modules_to_save"});
    rows.add<&L::from>("from",
                       "folder of an adapter to begin with, as a run leaves it in adapter or PEFT writes it; "
                       "empty: A random, B zero",
                       {}, {.also = "adapter adapter_path", .path = true});
    return rows.section;
}

Section quantization_section() {
    Rows<&Config::quantization> rows{
        {"quantization", "Linear layers whose weights a file stores in 8 or 4 bits.", {}}};
    using Q = QuantizationConfig;
    rows.add<&Q::method>("method",
                         "how weights, and inputs, of the linear layers are stored and multiplied; none: as "
                         "floats",
                         {}, {.also = "quantize quant_method load_in_8bit load_in_4bit"});
    rows.add<&Q::group>("group", "columns of a weight that share a scale, a multiple of 16; 0: the whole row",
                        within(0, 65536), {.also = "group_size q_group_size"});
    rows.add<&Q::zero_points>("zero_points", "whether each group has a zero point beside its scale", {},
                              {.also = "zero_point asymmetric"});
    rows.add<&Q::skip>("skip",
                       "linear layers that are stored as floats, as `switchyard model --parameters` names "
                       "them without .weight; * stands for any characters",
                       {}, {.also = "modules_to_not_convert llm_int8_skip_modules ignore"});
    rows.add<&Q::skip_backend>("skip_backend", "who multiplies the layers of quantization.skip",
                               {.not_empty = true})
        .type = ValueType::backend;
    return rows.section;
}

Section log_section() {
    Rows<&Config::log> rows{{"log", "Who else gets what a training writes into metrics.jsonl.", {}}};
    using L = LogConfig;
    rows.add<&L::command>("command",
                          "a program and its arguments: it gets each line of metrics.jsonl on its standard "
                          "input (docs/runs.md); a path is relative to the file that names it",
                          {}, {.also = "logger program hook wandb mlflow", .program = true});
    rows.add<&L::end_seconds>("end_seconds",
                              "time that the program has to end after its input did, before it is killed",
                              within(0, 86400), {.also = "timeout wait"});
    return rows.section;
}

}  // namespace switchyard::config
