#include "core/workbench/cli/job/job_draft.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/data/table_columns.h"

namespace switchyard::cli {
namespace {

using config::ModelType;
using config::TaskKind;
using data::ColumnFacts;

// Numbers before texts, each in their order: "2" before "10".
std::vector<std::string> sorted_labels(const ColumnFacts& column) {
    std::vector<std::string> labels;
    for (const auto& [value, count] : column.values) labels.push_back(value);
    if (column.numbers)
        std::ranges::sort(labels, [](const auto& a, const auto& b) { return std::stod(a) < std::stod(b); });
    return labels;
}

std::string quoted(const std::string& text) {
    return base::printable(
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string list_of(const std::vector<std::string>& texts) {
    std::string list;
    for (const auto& text : texts) base::add_item(list, quoted(text));
    return "[" + list + "]";
}

class Drafting {
public:
    explicit Drafting(const DraftRequest& request)
        : request_(request), columns_(request.facts.columns), type_(request.model.type) {}

    JobDraft draft() {
        check_encoding();
        check_rows();
        if (!request_.targets.empty()) {
            need(ModelType::t5, "an answer to each line");
            draft_.task = TaskKind::seq2seq;
            say("Each line has its answer in --targets.");
        } else if (request_.facts.format == data::RowFormat::text) {
            draft_language("The file is plain text: a language model learns to continue it.");
        } else {
            draft_table();
        }
        return std::move(draft_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Failure(base::printable(request_.files.front()) + ": error: " + what);
    }

    void say(std::string reason) { draft_.reasons.push_back(std::move(reason)); }

    // Text in UTF-16 has a NUL byte in nearly each character, one in Latin-1 bytes that UTF-8 has not.
    void check_encoding() {
        const auto& facts = request_.facts;
        const auto rows = std::to_string(facts.rows) + " rows";
        if (facts.with_nul * 2 > facts.rows)
            fail(std::to_string(facts.with_nul) + " of " + rows +
                 " have NUL bytes, as text in UTF-16 has; expected UTF-8, such as iconv -f UTF-16 -t UTF-8 "
                 "makes of it");
        if (facts.no_utf8 == 0) return;
        const std::string what = std::to_string(facts.no_utf8) + " of " + rows + " are no UTF-8";
        const std::string advice = "iconv -f LATIN1 -t UTF-8 makes UTF-8 of text in Latin-1";
        const bool stray = facts.no_utf8 * 10 <= facts.rows;
        if (facts.format != data::RowFormat::text && !stray) fail(what + "; expected UTF-8: " + advice);
        say(what + ": " + advice + ".");
    }

    void check_rows() {
        const auto& facts = request_.facts;
        const auto first_bad = base::printable(request_.files.front() + ":" + facts.first_bad);
        if (facts.rows == 0 && facts.bad_rows > 0)
            fail("none of its rows can be read; the first one: " + first_bad);
        if (facts.rows == 0) fail("has no rows to learn from");
        if (facts.bad_rows > 0)
            say("Rows that cannot be read are left out, " + std::to_string(facts.bad_rows) +
                "; the first one: " + first_bad + ".");
    }

    void need(ModelType type, const char* what) const {
        if (request_.from.empty() || type_ == type) return;
        fail(std::string(what) + " needs a model of type " + std::string(name(type)) + "; " +
             base::printable(request_.from) + " is a " + std::string(name(type_)));
    }

    void draft_language(const std::string& why) {
        const bool given = !request_.from.empty();
        draft_.task = !given || type_ == ModelType::gpt ? TaskKind::causal_lm
                      : type_ == ModelType::bert        ? TaskKind::masked_lm
                                                        : TaskKind::seq2seq;
        if (draft_.task == TaskKind::masked_lm)
            say("The model is an encoder: it learns to fill in words that are hidden.");
        else if (draft_.task == TaskKind::seq2seq)
            say("The model is a t5: it learns to fill in spans that are cut out.");
        else
            say(why);
    }

    void draft_table() {
        find_pair();
        const auto* const target = data::named_as_target(columns_);
        if (!request_.from.empty() && type_ == ModelType::t5) return draft_answers(target);
        if (!request_.from.empty() && type_ == ModelType::gpt) {
            find_text(nullptr);
            return draft_language(
                "The model is a decoder: it learns to write texts like those of the column.");
        }
        const auto* const label = find_label();
        find_text(label);
        if (label == nullptr)
            return draft_language("No column looks like a label: a language model learns the texts.");
        check_varies(*label);
        draft_.label_column = label->name;
        const bool named_so = data::named_as_label(columns_) == label;
        const auto why = named_so ? "by its name" : "as it has few different values";
        if (data::is_classes(*label)) {
            draft_.task = TaskKind::classification;
            draft_.labels = sorted_labels(*label);
            say("Column " + quoted(label->name) + " is the label, " + why + ": " +
                std::to_string(draft_.labels.size()) + " classes" + several_labels(*label) + ".");
            keep_order();
        } else if (label->numbers) {
            draft_.task = TaskKind::regression;
            say("Column " + quoted(label->name) + " is the value to predict, " + why +
                ": numbers, many of them different.");
        } else {
            const bool many = label->many_values || label->values.size() > data::most_classes;
            fail("column " + quoted(label->name) + " has " +
                 (many ? "more than " + std::to_string(data::most_classes)
                       : std::to_string(label->values.size())) +
                 " different texts in " + std::to_string(label->rows) +
                 " rows: expected labels, or numbers, or no column of that name" + several_labels(*label));
        }
    }

    void check_varies(const ColumnFacts& label) const {
        if (label.many_values || label.values.size() > 1) return;
        fail("column " + quoted(label.name) + " has " +
             (label.values.empty() ? "no value"
                                   : "no other value than " + quoted(label.values.begin()->first)) +
             ": there is nothing to tell apart; expected two classes or more, or no column of that name");
    }

    // Where each row looks as if it had several.
    static std::string several_labels(const ColumnFacts& label) {
        const char separator = data::label_separator(label);
        if (separator == 0) return "";
        return "; for several labels of a row, with " + quoted(std::string(1, separator)) +
               " between, set task.kind = \"multi_label\", task.labels to the single labels and "
               "data.label_separator = " +
               quoted(std::string(1, separator));
    }

    void draft_answers(const ColumnFacts* target) {
        const auto* const source = data::named_as_source(columns_);
        if (source == nullptr || target == nullptr || source == target)
            fail(
                "expected a column of texts and one of answers, called such as source and target; its "
                "columns are " +
                names_of_columns());
        draft_.task = TaskKind::seq2seq;
        draft_.text_column = source->name;
        draft_.target_column = target->name;
        say("Column " + quoted(target->name) + " is the answer to column " + quoted(source->name) +
            ", by their names.");
    }

    std::string names_of_columns() const {
        std::string names;
        for (const auto& column : columns_) base::add_item(names, quoted(column.name));
        return names;
    }

    void find_pair() {
        const auto [first, second] = data::named_as_pair(columns_);
        if (first == nullptr) return;
        draft_.text_column = first->name;
        draft_.pair_column = second->name;
        say("Columns " + quoted(first->name) + " and " + quoted(second->name) +
            " are a pair of texts, by their names.");
    }

    const ColumnFacts* find_label() const {
        return data::likely_label(columns_, {draft_.text_column, draft_.pair_column});
    }

    void find_text(const ColumnFacts* label) {
        if (!draft_.text_column.empty()) return;
        const auto* const text = data::likely_text(columns_, label);
        if (text == nullptr)
            fail("no column has texts; its columns are " + names_of_columns() +
                 (columns_.size() == 1 && columns_[0].name.find_first_of(";|,\t") != std::string::npos
                      ? ": expected a comma between columns in .csv, and a tab in .tsv"
                      : ""));
        draft_.text_column = text->name;
        const bool named_so = data::named_as_text(columns_) == text;
        say("Column " + quoted(text->name) + " is the text, " +
            (named_so ? "by its name." : "as it has the longest values."));
    }

    // A classifier that is there already knows its classes by their numbers.
    void keep_order() {
        const std::set<std::string> theirs(request_.labels.begin(), request_.labels.end());
        if (theirs != std::set<std::string>(draft_.labels.begin(), draft_.labels.end())) return;
        draft_.labels = request_.labels;
        say("The labels stand in the order in which the model already tells them apart.");
    }

    const DraftRequest& request_;
    const std::vector<ColumnFacts>& columns_;
    ModelType type_;
    JobDraft draft_;
};

// Writes the sections of a configuration.
class Writer {
public:
    Writer(const JobDraft& draft, const DraftRequest& request)
        : draft_(draft), request_(request), bytes_(request.from.empty()) {}

    std::string text() {
        out_ << "# Written by `switchyard init` from " << base::printable(request_.files.front())
             << ", of which " << request_.facts.rows
             << (request_.facts.more ? " rows were looked at, and there are more.\n"
                                     : " rows were looked at.\n");
        for (const auto& reason : draft_.reasons) out_ << "#   " << reason << '\n';
        out_ << "# Every key, with what it means: `switchyard config schema`. What is wrong with this file: "
                "`switchyard config "
                "check FILE`.\n\n";
        write_model();
        write_task();
        write_data();
        write_batch();
        write_training();
        return out_.str();
    }

private:
    void write_model() {
        if (!bytes_) {
            out_ << "[model]\nfrom = " << quoted(request_.from)
                 << "   # sizes, formulas, weights and tokenizer\n\n";
            return;
        }
        const bool gpt = draft_.task == TaskKind::causal_lm;
        out_ << "# A small new model, whose tokens are bytes. With `from = \"FOLDER\"` instead of all this "
                "it begins with a\n"
                "# pretrained one, which needs far fewer texts.\n[model]\ntype = \""
             << (draft_.task == TaskKind::seq2seq ? "t5"
                 : gpt                            ? "gpt"
                                                  : "bert")
             << "\"\nlayers = 4\nhidden_size = 256\nheads = 4\nintermediate_size = 1024\nvocab_size = 261    "
                "    # 256 bytes and "
                "five special tokens\nmax_positions = "
             << max_length() << "\n\n";
    }

    void write_task() {
        out_ << "[task]\nkind = \"" << name(draft_.task) << "\"\n";
        if (!draft_.labels.empty()) out_ << "labels = " << list_of(draft_.labels) << '\n';
        out_ << '\n';
    }

    void write_data() {
        out_ << "[data]\ntrain = " << list_of(request_.files) << '\n';
        if (!request_.targets.empty())
            out_ << "target_train = " << list_of(request_.targets) << "   # a line for each line of train\n";
        const std::string held =
            "eval_fraction = 0.1         # held out by a hash of the text; or name files: eval = [...]";
        const auto column = [&](const char* key, const std::string& value) {
            if (!value.empty()) out_ << key << " = " << quoted(value) << '\n';
        };
        if (draft_.task == TaskKind::seq2seq && draft_.target_column.empty() && request_.targets.empty())
            out_ << "targets = \"spans\"\n";
        column("text_column", draft_.text_column);
        column("pair_column", draft_.pair_column);
        column("label_column", draft_.label_column);
        column("target_column", draft_.target_column);
        out_ << held << '\n';
        if (bytes_) out_ << "tokenizer = \"bytes\"\n";
        if (in_blocks())
            out_
                << "blocks = \"fixed\"            # lines end to end, in blocks of batch.max_length tokens\n";
        const auto bad = request_.facts.bad_rows + (bytes_ ? 0 : request_.facts.no_utf8);
        if (bad > 0)
            out_ << "bad_row = \"skip\"            # " << bad
                 << " of the rows that were looked at are malformed\n";
        out_ << '\n';
    }

    // Lines end to end, cut into samples that are all as long.
    bool in_blocks() const { return draft_.task == TaskKind::causal_lm && draft_.text_column.empty(); }

    std::int64_t bytes_of_token() const { return bytes_ ? 1 : 4; }  // as pieces of English words have

    std::int64_t most_tokens() const {
        const auto most = request_.model.max_positions > 0 && !bytes_ ? request_.model.max_positions : 512;
        return std::min<std::int64_t>(most, 512);
    }

    // Tokens that 95 % of the texts do not exceed.
    std::int64_t usual_length() const {
        std::int64_t bytes = 0;
        for (const auto& column : request_.facts.columns) {
            const bool read = column.name == draft_.text_column || column.name == draft_.pair_column ||
                              column.name == draft_.target_column || draft_.text_column.empty();
            if (read)
                bytes = draft_.pair_column.empty() ? std::max(bytes, column.percent_95_bytes)
                                                   : bytes + column.percent_95_bytes;
        }
        return bytes / bytes_of_token() + 2;
    }

    std::int64_t max_length() const {
        const bool continues = draft_.task == TaskKind::causal_lm;
        const auto tokens = std::max(usual_length(), continues ? 1024 / bytes_of_token() + 2 : 0);
        return std::min((tokens + 31) / 32 * 32, most_tokens());
    }

    void write_batch() {
        const auto* const what = in_blocks() ? "tokens of a block, which goes on with the next text"
                                 : usual_length() <= max_length()
                                     ? "tokens; about 95 % of these texts are shorter, longer ones are cut"
                                     : "tokens; more than 5 % of these texts are longer and are cut";
        out_ << "[batch]\nsize = 32\nmax_length = " << max_length() << "          # " << what << "\n\n";
    }

    // That the rows which were looked at make, those held out among them.
    double samples() const {
        const auto rows = static_cast<double>(request_.facts.rows);
        if (!in_blocks() || request_.facts.columns.empty()) return rows;
        const auto bytes = request_.facts.columns.front().mean_bytes;
        const auto tokens = bytes / static_cast<double>(bytes_of_token()) + 1.0;  // and the end of the text
        return rows * tokens / static_cast<double>(max_length());
    }

    void write_training() {
        const auto every =
            std::max<std::int64_t>(in_blocks() ? 1 : 10, static_cast<std::int64_t>(samples() * 0.9 / 32 / 2));
        const bool classes = draft_.task == TaskKind::classification;
        out_ << "[train]\nepochs = 3\neval_every = " << every
             << "         # steps; about twice an epoch\nkeep_best = \""
             << (classes ? "eval.macro_f1" : "eval.loss") << "\"   # RUN@best is its checkpoint\n\n"
             << "[optimizer]\nlr = " << (bytes_ ? "5e-4" : "5e-5") << '\n';
    }

    const JobDraft& draft_;
    const DraftRequest& request_;
    bool bytes_;
    std::ostringstream out_;
};

}  // namespace

JobDraft draft_job(const DraftRequest& request) { return Drafting(request).draft(); }

std::string to_toml(const JobDraft& draft, const DraftRequest& request) {
    return Writer(draft, request).text();
}

}  // namespace switchyard::cli
