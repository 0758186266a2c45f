#include "core/workbench/cli/infer/export_model.h"

#include <filesystem>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/config/metric_names.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/program_version.h"
#include "core/workbench/data/tokenizers/tokenizer_source.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/weights/adapter_files.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/run_facts.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;

// As the Hub calls what a model is for; empty where it has no name for it.
std::string pipeline_of(config::TaskKind kind) {
    using Kind = config::TaskKind;
    switch (kind) {
        case Kind::masked_lm:
            return "fill-mask";
        case Kind::classification:
        case Kind::multi_label:
        case Kind::regression:
            return "text-classification";
        case Kind::token_classification:
            return "token-classification";
        case Kind::causal_lm:
            return "text-generation";
        default:
            return "";
    }
}

// Text of a run, a file's name or a command, as code in Markdown.
std::string code(const std::string& text) {
    std::string line;
    for (const char c : text) line += c == '`' ? '\'' : c == '\n' || c == '\r' ? ' ' : c;
    return "`" + line + "`";
}

std::string scores_table(const train::EvalResult& eval) {
    std::ostringstream table;
    table << "| score | value |\n|---|---|\n";
    const auto row = [&](const std::string& name, double value) {
        table << "| " << name << " | " << base::digits(value, 4) << " |\n";
    };
    if (eval.accuracy) row("accuracy", *eval.accuracy);
    if (eval.perplexity) row("perplexity", *eval.perplexity);
    for (const auto& [name, value] : eval.metrics)
        if (name.find('/') == std::string::npos) row(name, value);
    row("loss", eval.loss);
    return table.str();
}

// What a regression's outputs mean for whoever runs it elsewhere.
std::string units_text(const train::Session& session) {
    const auto& scale = session.data().scale;
    if (scale.mean.empty()) return "";
    std::ostringstream text;
    text << "## Units\n\nThe outputs are standardized. A number in the units of the data is `output * "
            "deviation + "
            "mean`, and `label_scale.json` has both:\n\n| output | mean | deviation |\n|---|---|---|\n";
    const auto names = config::label_names(session.config());
    for (std::size_t i = 0; i < scale.mean.size(); ++i)
        text << "| " << code(names.at(i)) << " | " << base::digits(scale.mean[i], 6) << " | "
             << base::digits(scale.deviation[i], 6) << " |\n";
    return text.str() + "\n";
}

// The form is that of the Hub's model cards: facts in YAML, then text.
std::string model_card(const train::Session& session, const train::RunDirectory& run,
                       const train::EvalResult& eval) {
    const auto& config = session.config();
    std::ostringstream card;
    card << "---\nlibrary_name: transformers\n";
    if (const auto pipeline = pipeline_of(config.task.kind); !pipeline.empty())
        card << "pipeline_tag: " << pipeline << '\n';
    card << "---\n\n# " << std::filesystem::absolute(run.path()).lexically_normal().filename().string()
         << "\n\nA model of type " << name(config.model.type) << ", trained by Switchyard for "
         << name(config.task.kind) << ".\n\n";
    if (!config.train.weights.empty())
        card << "It began with the weights of " << code(config.train.weights) << ".\n\n";
    if (const auto text = base::read_text(run.file("record.json"))) {
        const auto record = base::parse_object(*text, run.file("record.json"));
        card << "## Training\n\nBy Switchyard " << version_text()
             << ".\n\nThe command: " << code(base::text_of(record, "command"))
             << "\n\nThe data, with XXH3 hashes of 128 bits:\n\n";
        for (const auto& [key, files] : train::facts_from(base::member(record, "facts")).data) {
            for (const auto& file : files)
                card << "- " << code(key) << ": " << code(file.path) << ' ' << file.hash << '\n';
        }
        card << '\n';
    }
    card << units_text(session) << "## Evaluation\n\n";
    if (eval.complete)
        card << "Of the last evaluation, on " << eval.samples << " samples:\n\n" << scores_table(eval);
    else
        card << "It was not evaluated.\n";
    return card.str();
}

// Without it what a regression answers would have no units for whoever has the folder alone.
base::FileError copy_label_scale(const train::RunDirectory& run, const std::string& folder) {
    const auto text = base::read_text(run.label_scale());
    if (!text) return {};
    return base::write_file_atomically(train::RunDirectory(folder).label_scale(), *text);
}

// An adapter goes with the model that the run began with, so that what was trained whole and then frozen
// belongs to it too.
base::FileError export_adapter(train::Session& session, const train::RunDirectory& run,
                               const model::Parameters& whole) {
    const auto& config = session.config();
    std::vector<std::string> trained;
    try {
        if (!config.train.weights.empty()) trained = model::names_unlike(config.train.weights, config, whole);
    } catch (const base::InputError& error) {
        std::cerr << ("warning: " + run.adapter() +
                      ": may lack parameters that were trained and then frozen, which cannot be told: " +
                      error.what() + "\n");
    }
    for (const auto& parameter : whole.all())
        if (train::is_trained(config, parameter.name) && !model::is_low_rank(parameter.name))
            trained.push_back(parameter.name);
    return model::save_adapter(run.adapter(), config, whole, trained, config.train.weights);
}

// transformers looks for a model of SentencePiece by the name that the model's class gives it.
std::string name_for(config::ModelType type, const std::string& name) {
    if (name != "spiece.model" && name != "tokenizer.model") return name;
    return type == config::ModelType::t5 ? "spiece.model" : "tokenizer.model";
}

void write_files(const std::string& folder, const std::vector<data::TokenizerFile>& files) {
    if (files.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Failure(folder + ": error: cannot be made: " + error.message());
    for (const auto& file : files) write_file(folder + "/" + file.name, file.bytes);
}

}  // namespace

bool is_vocabulary_alone(const std::vector<data::TokenizerFile>& files) {
    return files.size() == 1 && files[0].name == "vocab.txt";
}

model::SpecialTokens special_tokens(const train::Session& session) {
    const auto& ids = session.tokenizer().specials();
    model::SpecialTokens tokens{session.tokenizer().filling(), {}, {}};
    if (session.config().model.type == config::ModelType::bert) return tokens;
    if (ids.bos >= 0) tokens.bos = ids.bos;
    if (ids.eos >= 0) tokens.eos = ids.eos;
    return tokens;
}

// A vocab.txt does not say whether it is of words in lower case. That of molecules is not for transformers,
// which would cut them as words.
std::vector<data::TokenizerFile> tokenizer_files(const train::Session& session) {
    const auto& config = session.config();
    auto files = session.tokenizer().files();
    for (auto& file : files) file.name = name_for(config.model.type, file.name);
    if (!is_vocabulary_alone(files)) return files;
    const auto kind = data::find_tokenizer(config.data, config.train.weights).kind;
    if (kind != config::TokenizerKind::wordpiece) return {};
    const ordered_json settings{{"tokenizer_class", "BertTokenizer"},
                                {"do_lower_case", config.data.lower_case},
                                {"model_max_length", config.model.max_positions}};
    files.push_back({"tokenizer_config.json", settings.dump(2) + "\n"});
    return files;
}

void write_tokenizer(const data::Tokenizer& tokenizer, const train::RunDirectory& run) {
    const auto files = tokenizer.files();
    if (is_vocabulary_alone(files)) return write_file(run.vocabulary(), files[0].bytes);
    write_files(run.tokenizer(), files);
}

base::FileError export_model(train::Session& session, const train::RunDirectory& run,
                             const train::EvalResult& eval, const model::Parameters* all) {
    const auto folder = run.file("model");
    const auto& config = session.config();
    const auto& whole = all != nullptr ? *all : session.parameters();
    const bool adapted = config.lora.rank > 0;
    if (auto error = adapted ? export_adapter(session, run, whole) : std::nullopt) return error;
    const auto& parameters = adapted ? model::merged(config.lora, whole) : whole;
    if (auto error = model::save_weights(folder, config, parameters, special_tokens(session))) return error;
    for (const auto& file : tokenizer_files(session))
        if (auto error = base::write_file_atomically(folder + "/" + file.name, file.bytes)) return error;
    if (auto error = copy_label_scale(run, folder)) return error;
    return base::write_file_atomically(folder + "/README.md", model_card(session, run, eval));
}

}  // namespace switchyard::cli
