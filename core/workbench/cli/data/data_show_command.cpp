// switchyard data show CONFIG
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/runtime/operations/bind.h"
#include "core/kernel/runtime/operations/data_loader_op.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job_loader.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/train/job_data.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;
using Ids = std::vector<std::int64_t>;

struct ShowOptions {
    JobOptions job;
    std::int64_t sequences = 3;
    std::int64_t tokens = 40;
    JsonOption json;
};

constexpr std::int64_t no_label = -100;

// One sequence of a batch as the model gets it, padding included.
struct Sequence {
    Ids ids, types, positions;
    std::int64_t real = 0;  // tokens that are no padding
};

Ids numbers(const at::Tensor& tensor) {
    const auto flat = tensor.to(at::kLong).contiguous().view({-1});
    return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

Ids part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
    if (!tensor.defined()) return {};
    const auto all = numbers(tensor);
    return {all.begin() + begin, all.begin() + end};
}

// Where sequence `row` stands in the flat ids.
std::pair<std::int64_t, std::int64_t> range_of(const TokenBatch& batch, std::int64_t row) {
    if (batch.tokens.layout == Layout::padded) {
        const auto width = batch.ids.size(1);
        return {row * width, (row + 1) * width};
    }
    const auto ends = numbers(batch.tokens.cu_seqlens);
    return {ends[static_cast<std::size_t>(row)], ends[static_cast<std::size_t>(row + 1)]};
}

Sequence sequence_of(const TokenBatch& batch, std::int64_t row) {
    const auto [begin, end] = range_of(batch, row);
    Sequence sequence{part(batch.ids, begin, end), part(batch.token_type_ids, begin, end),
                      part(batch.tokens.positions, begin, end), end - begin};
    if (batch.tokens.lengths.defined())
        sequence.real = numbers(batch.tokens.lengths)[static_cast<std::size_t>(row)];
    for (std::int64_t i = static_cast<std::int64_t>(sequence.positions.size()); i < end - begin; ++i)
        sequence.positions.push_back(i);
    return sequence;
}

std::int64_t sequences_of(const TokenBatch& batch) {
    return batch.tokens.layout == Layout::padded ? batch.ids.size(0) : batch.tokens.cu_seqlens.numel() - 1;
}

std::string piece_of(const data::Tokenizer& tokenizer, std::int64_t id) {
    const auto& special = tokenizer.specials();
    for (const auto& [number, name] :
         {std::pair(special.pad, "<pad>"), std::pair(special.bos, "<begin>"), std::pair(special.eos, "<end>"),
          std::pair(special.unk, "<unknown>"), std::pair(special.mask, "<mask>")}) {
        if (number >= 0 && number == id) return name;
    }
    if (id >= tokenizer.size()) return "<sentinel>";
    return tokenizer.decode({id});
}

std::string seen_from(const config::Config& config, bool target) {
    const auto type = config.model.type;
    std::string text = type == config::ModelType::gpt || target ? "each token sees itself and those before it"
                                                                : "each token sees all of its sequence";
    if (config.model.window > 0)
        text += ", no farther than " + std::to_string(config.model.window) + " tokens away";
    return text + "; padding is not seen";
}

class Shower {
public:
    Shower(const ShowOptions& options, LoaderJob& job)
        : options_(options), job_(job), tokenizer_(train::open_tokenizer(job.config)) {}

    int run() {
        const auto splits = train::read_data(job_.config, tokenizer_);
        for (const auto& warning : splits.warnings) std::cerr << "warning: " << warning << '\n';
        const auto row = chosen_loader(job_);
        const auto loader = runtime::bind<runtime::DataLoaderOp>(row, *job_.registry, job_.host);
        loader.start(splits.train, train::loader_params(job_.config, tokenizer_->filling(), true));
        Batch batch;
        if (!loader.next(batch)) throw Failure("the data makes no batch; expected a smaller batch.size");
        loader_ = row.chosen->plugin + "/" + row.chosen->component;
        batches_ = loader.batches(0);
        samples_ = splits.train->size();
        write_json(options_.json, json_of(batch));
        if (!options_.json.on_stdout()) print(batch);
        return Exit::fine;
    }

private:
    std::int64_t shown(const Batch& batch) const {
        return std::min(options_.sequences, sequences_of(batch.source));
    }

    bool label_per_token() const { return job_.config.task.label_per_token(); }

    // Of one sequence: a label for each of its tokens, or the one that it has.
    Ids labels_of(const Batch& batch, std::int64_t row) const {
        if (!batch.labels.defined()) return {};
        if (!label_per_token()) return {numbers(batch.labels)[static_cast<std::size_t>(row)]};
        const auto [begin, end] = range_of(batch.target.ids.defined() ? batch.target : batch.source, row);
        return part(batch.labels, begin, end);
    }

    std::vector<double> values_of(const Batch& batch, std::int64_t row) const {
        if (!batch.float_labels.defined()) return {};
        const auto values = batch.float_labels[row].to(at::kDouble).contiguous();
        return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
    }

    // What a label is called.
    std::string label_text(std::int64_t label) const {
        if (label == no_label) return "-";
        if (job_.config.task.predicts_tokens())
            return std::to_string(label) + " " + piece_of(*tokenizer_, label);
        const auto& names = job_.config.task.labels;
        const bool named = label >= 0 && static_cast<std::size_t>(label) < names.size();
        return std::to_string(label) + (named ? " " + names[static_cast<std::size_t>(label)] : "");
    }

    void print(const Batch& batch) const {
        const auto& source = batch.source;
        std::cout << samples_ << " samples to learn from, " << batches_ << " batches in the first epoch by "
                  << loader_ << "\nthe first batch: " << counted(sequences_of(source), "sequence") << ", "
                  << source.count << " tokens in " << source.ids.numel() << " places ("
                  << name(source.tokens.layout) << ")";
        if (batch.target.ids.defined())
            std::cout << "; " << batch.target.count << " tokens of answers in " << batch.target.ids.numel()
                      << " places";
        std::cout << "\n";
        for (std::int64_t row = 0; row < shown(batch); ++row) print(batch, row);
    }

    void print(const Batch& batch, std::int64_t row) const {
        const bool answers = batch.target.ids.defined();
        std::cout << "\nsequence " << row + 1 << ", of sample "
                  << batch.samples[static_cast<std::size_t>(row)] << '\n';
        if (!label_per_token()) {
            for (const auto label : labels_of(batch, row))
                std::cout << "label: " << label_text(label) << '\n';
            for (const auto value : values_of(batch, row)) std::cout << "label: " << value << '\n';
        }
        print(sequence_of(batch.source, row), label_per_token() && !answers ? labels_of(batch, row) : Ids(),
              false);
        if (!answers) return;
        std::cout << "its answer\n";
        print(sequence_of(batch.target, row), labels_of(batch, row), true);
    }

    void print(const Sequence& sequence, const Ids& labels, bool target) const {
        std::cout << sequence.real << " tokens";
        const auto padding = static_cast<std::int64_t>(sequence.ids.size()) - sequence.real;
        if (padding > 0) std::cout << " and " << padding << " of padding";
        std::cout << "; " << seen_from(job_.config, target) << '\n';
        std::vector<std::string> titles{"position", "id", "token"};
        if (!sequence.types.empty()) titles.emplace_back("type");
        if (!labels.empty()) titles.emplace_back("label");
        Table table(titles);
        const auto count =
            std::min<std::size_t>(sequence.ids.size(), static_cast<std::size_t>(options_.tokens));
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<Text> cells{std::to_string(sequence.positions[i]), std::to_string(sequence.ids[i]),
                                    piece_of(*tokenizer_, sequence.ids[i])};
            if (!sequence.types.empty()) cells.emplace_back(std::to_string(sequence.types[i]));
            if (!labels.empty()) cells.emplace_back(label_text(labels[i]));
            table.row(cells);
        }
        std::cout << table.render();
        if (count < sequence.ids.size())
            std::cout << "and " << sequence.ids.size() - count << " more (--tokens N shows N)\n";
    }

    ordered_json json_of(const Sequence& sequence) const {
        auto pieces = ordered_json::array();
        for (const auto id : sequence.ids) pieces.push_back(base::printable(piece_of(*tokenizer_, id)));
        ordered_json json{{"ids", sequence.ids},
                          {"tokens", std::move(pieces)},
                          {"positions", sequence.positions},
                          {"real", sequence.real}};
        if (!sequence.types.empty()) json["token_types"] = sequence.types;
        return json;
    }

    ordered_json json_of(const Batch& batch) const {
        auto sequences = ordered_json::array();
        for (std::int64_t row = 0; row < shown(batch); ++row) {
            ordered_json sequence{{"sample", batch.samples[static_cast<std::size_t>(row)]},
                                  {"source", json_of(sequence_of(batch.source, row))}};
            if (batch.target.ids.defined()) sequence["target"] = json_of(sequence_of(batch.target, row));
            if (batch.labels.defined()) sequence["labels"] = labels_of(batch, row);
            auto values = ordered_json::array();
            for (const auto value : values_of(batch, row))
                values.push_back(std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr));
            if (!values.empty()) sequence["values"] = std::move(values);
            sequences.push_back(std::move(sequence));
        }
        return {{"samples", samples_},
                {"batches", batches_},
                {"loader", loader_},
                {"layout", name(batch.source.tokens.layout)},
                {"batch",
                 {{"sequences", sequences_of(batch.source)},
                  {"tokens", batch.source.count},
                  {"places", batch.source.ids.numel()}}},
                {"sequences", std::move(sequences)}};
    }

    const ShowOptions& options_;
    LoaderJob& job_;
    std::shared_ptr<const data::Tokenizer> tokenizer_;
    std::string loader_;
    std::int64_t batches_ = 0, samples_ = 0;
};

}  // namespace

Action setup_data_show(CLI::App& command) {
    const auto options = std::make_shared<ShowOptions>();
    add_job_options(command, options->job);
    add_number(command, "-n,--sequences", options->sequences, "sequences of the first batch; default: 3", "N",
               whole_number(1, 1 << 20));
    add_number(command, "--tokens", options->tokens, "tokens of each that are printed; default: 40", "N",
               whole_number(1, 1 << 20));
    add_json(command, options->json);
    return [options] {
        const auto job = loader_job(options->job);
        return Shower(*options, *job).run();
    };
}

}  // namespace switchyard::cli
