#include "core/kernel/config/trainable.h"

#include <algorithm>

#include "core/kernel/base/child_process.h"

namespace switchyard::config {
namespace {

bool written(const Origin& origin) { return origin.source != Origin::Source::standard; }

// Where the section of a key begins in a file, or else the file that has anything.
std::string place_of_section(const Config& config, std::string_view section) {
    std::string file, place;
    int first = 0;
    for (const auto& [key, origin] : config.origins) {
        if (origin.source != Origin::Source::file) continue;
        const bool inside =
            key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
        if (file.empty()) file = origin.name;
        if (!inside || (first != 0 && origin.line >= first)) continue;
        first = origin.line;
        place = origin.name + ":" + std::to_string(origin.line);
    }
    return place.empty() ? file : place;
}

}  // namespace

bool trains(const Config& config) { return std::ranges::count(config.run.phases, Phase::train) > 0; }

std::string told_at(const Config& config, std::string_view key) {
    const auto found = config.origins.find(key);
    const bool known = found != config.origins.end() && written(found->second);
    const auto place =
        known ? to_string(found->second) : place_of_section(config, key.substr(0, key.rfind('.')));
    return (place.empty() ? "" : place + ": ") + "error: " + std::string(key) + ": " +
           (known ? "" : "is missing; ");
}

std::string labels_problem(const Config& config) {
    if (config.task.kind == TaskKind::multi_label && config.task.labels.empty())
        return told_at(config, "task.labels") + "expected the name of at least one class";
    const bool classes =
        config.task.kind == TaskKind::classification || config.task.kind == TaskKind::token_classification;
    if (!classes || config.task.labels.size() >= 2) return "";
    return told_at(config, "task.labels") +
           "expected the names of at least two classes, e.g. [\"no\", \"yes\"]";
}

std::string files_problem(const Config& config) {
    return config.data.given() ? "" : told_at(config, "data.train") + "expected at least one file";
}

std::string vocabulary_problem(const Config& config) {
    const auto& data = config.data;
    if (data.tokenizer == TokenizerKind::bytes && !data.vocabulary.empty())
        return told_at(config, "data.vocabulary") +
               "data.tokenizer = \"bytes\" reads no file; expected data.tokenizer = \"auto\", or no "
               "vocabulary";
    const bool needs = data.tokenizer != TokenizerKind::bytes && data.tokenizer != TokenizerKind::smiles;
    if (!needs || !data.vocabulary.empty() || !config.train.weights.empty()) return "";
    return told_at(config, "data.vocabulary") +
           "expected the path of a tokenizer (vocab.txt, tokenizer.json, vocab.json, a .model of "
           "SentencePiece), "
           "or train.weights with a folder that has one";
}

std::string phases_problem(const Config& config) {
    for (const Phase phase : {Phase::train, Phase::eval}) {
        if (std::ranges::count(config.run.phases, phase) == 0)
            return told_at(config, "run.phases") + "has no " + std::string(name(phase)) +
                   "; training needs both train and eval";
    }
    return "";
}

std::string log_command_problem(const Config& config) {
    const auto& words = config.log.command;
    if (words.empty()) return "";
    const auto problem =
        words.front().empty() ? "the program has no name" : base::program_problem(words.front());
    return problem.empty() ? "" : told_at(config, "log.command") + problem;
}

std::string vocabulary_size_problem(const Config& config, std::int64_t pieces) {
    if (pieces <= config.model.vocab_size) return "";
    const auto& data = config.data;
    return told_at(config, "model.vocab_size") +
           (!data.vocabulary.empty()                     ? data.vocabulary + ":"
            : data.tokenizer == TokenizerKind::automatic ? "the tokenizer of train.weights"
                                                         : std::string(name(data.tokenizer))) +
           " has " + std::to_string(pieces) + " pieces, but model.vocab_size is " +
           std::to_string(config.model.vocab_size);
}

}  // namespace switchyard::config
