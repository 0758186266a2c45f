#include "core/workbench/cli/data/guessed_columns.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/value.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/labels.h"
#include "core/workbench/data/table_columns.h"

namespace switchyard::cli {
namespace {

using config::TaskKind;
using data::ColumnFacts;

constexpr std::int64_t looked_at = 10000;  // rows

// What can be read only once is left to who reads it for good.
bool is_plain_file(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
}

class Guess {
public:
    Guess(const data::Columns& columns, const config::TaskConfig& task, bool answers)
        : columns_(columns), task_(task), answers_(answers) {}

    GuessedColumns columns() {
        if (task_.kind == TaskKind::seq2seq) {
            find_answers();
        } else if (task_.kind != TaskKind::token_classification && task_.kind != TaskKind::next_sentence) {
            find_label();
            find_text();
        }
        return std::move(guessed_);
    }

private:
    bool has(const std::string& name) const {
        return std::any_of(columns_.begin(), columns_.end(),
                           [&](const ColumnFacts& column) { return column.name == name; });
    }

    bool of_one_label() const {
        return task_.kind == TaskKind::classification ||
               (task_.kind == TaskKind::regression && task_.labels.empty());
    }

    bool holds_labels(const ColumnFacts& column) const {
        return !column.values.empty() &&
               std::all_of(column.values.begin(), column.values.end(), [&](const auto& value) {
                   return data::label_number(task_.labels, value.first).has_value();
               });
    }

    void find_label() {
        const config::DataConfig usual;
        if (!of_one_label() || has(usual.label_column)) return;
        const auto [first, second] = data::named_as_pair(columns_);
        std::vector<std::string> texts{usual.text_column};
        if (first != nullptr) texts.insert(texts.end(), {first->name, second->name});
        label_ = data::likely_label(columns_, texts);
        if (task_.kind == TaskKind::regression) {
            if (label_ != nullptr && !label_->numbers) label_ = nullptr;
        } else if (label_ == nullptr || !holds_labels(*label_)) {
            for (const auto& column : columns_)
                if (holds_labels(column)) label_ = &column;
        }
        if (label_ != nullptr) guessed_.label = label_->name;
    }

    void find_text() {
        if (has(config::DataConfig().text_column)) return;
        const auto [first, second] = data::named_as_pair(columns_);
        if (first != nullptr && !task_.predicts_tokens()) {
            guessed_.text = first->name;
            guessed_.pair = second->name;
        } else if (const auto* const text = data::likely_text(columns_, label_)) {
            guessed_.text = text->name;
        }
    }

    void find_answers() {
        if (answers_) return;
        const auto* const target = data::named_as_target(columns_);
        if (target != nullptr) guessed_.target = target->name;
        if (has(config::DataConfig().text_column)) return;
        const auto* const source = data::named_as_source(columns_);
        if (source != nullptr && source != target) guessed_.text = source->name;
    }

    const data::Columns& columns_;
    const config::TaskConfig& task_;
    bool answers_;
    const ColumnFacts* label_ = nullptr;
    GuessedColumns guessed_;
};

}  // namespace

GuessedColumns guess_columns(const std::vector<std::string>& files, const config::TaskConfig& task,
                             bool answers) {
    if (files.empty()) return {};
    const auto all = data::files_of(files.front());
    if (all.empty() || !is_plain_file(all.front())) return {};
    const auto facts = data::look_at(all.front(), std::nullopt, looked_at);
    if (!facts.error.empty() || facts.format == data::RowFormat::text) return {};
    auto guessed = Guess(facts.columns, task, answers).columns();
    guessed.file = all.front();
    return guessed;
}

void imply(const GuessedColumns& columns, JobOptions& job) {
    const auto set = [&](const char* key, const std::string& column) {
        if (!column.empty())
            job.implied.push_back({columns.file, std::string(key) + "=" + config::toml_string(column)});
    };
    set("data.text_column", columns.text);
    set("data.pair_column", columns.pair);
    set("data.label_column", columns.label);
    set("data.target_column", columns.target);
}

std::string told(const GuessedColumns& columns, const config::DataConfig& data) {
    std::string list, keys;
    const auto add = [&](const std::string& guessed, const std::string& used, const char* what,
                         const char* key) {
        if (guessed.empty() || guessed != used) return;
        base::add_item(list, "'" + base::quoted(guessed) + "' for " + what);
        base::add_item(keys, std::string("--set data.") + key + "=COLUMN");
    };
    add(columns.text, data.text_column, "the text", "text_column");
    add(columns.pair, data.pair_column, "its second text", "pair_column");
    add(columns.label, data.label_column, "the label", "label_column");
    add(columns.target, data.target_column, "the answer", "target_column");
    if (list.empty()) return "";
    return base::printable(columns.file) + ": taking the column " + list + "; otherwise " + keys + "\n";
}

}  // namespace switchyard::cli
