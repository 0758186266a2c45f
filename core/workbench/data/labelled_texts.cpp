#include "core/workbench/data/labelled_texts.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/labels.h"

namespace switchyard::data {
namespace {

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos; }

// What can be read and is most likely not meant: labels that no sample has.
void warn(const char* key, const std::vector<std::int64_t>& counts, const std::vector<std::string>& labels,
          std::vector<std::string>& warnings) {
    std::vector<std::string> unseen;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (counts[i] == 0)
            unseen.push_back(labels[i]);
        else
            seen = i;
    }
    if (unseen.empty() || unseen.size() == labels.size()) return;
    if (unseen.size() + 1 == labels.size())
        warnings.push_back(std::string(key) + ": all " + std::to_string(counts[seen]) +
                           " samples have the label '" + base::quoted(labels[seen]) +
                           "': there is nothing to tell apart");
    warnings.push_back(std::string(key) + ": no sample has the label " + quoted_list(unseen) +
                       " (task.labels)");
}

using Parts = std::vector<std::shared_ptr<LabelledTexts>>;  // of each source

// How often each class is the label of a sample, or one of its labels.
std::vector<std::int64_t> counts_of(const Parts& parts, const config::Config& config) {
    std::vector<std::int64_t> counts(config.task.labels.size());
    for (const auto& texts : parts) {
        const auto& values = texts->values();
        for (std::size_t i = 0; i < values.size(); ++i) counts[i % counts.size()] += values[i] > 0.5 ? 1 : 0;
        for (std::int64_t i = 0; values.empty() && i < texts->size(); ++i)
            ++counts[static_cast<std::size_t>(texts->get(i, 0).labels[0])];
    }
    return counts;
}

// Labels among several that no sample has.
void warn_unseen(const char* key, const Parts& parts, const config::Config& config,
                 std::vector<std::string>& warnings) {
    const auto counts = counts_of(parts, config);
    const auto& labels = config.task.labels;
    if (config.task.kind == config::TaskKind::classification) return warn(key, counts, labels, warnings);
    std::vector<std::string> unseen;
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (counts[i] == 0) unseen.push_back(labels[i]);
    const bool any = std::ranges::any_of(parts, [](const auto& texts) { return texts->size() > 0; });
    if (!unseen.empty() && any)
        warnings.push_back(std::string(key) + ": no sample has the label " + quoted_list(unseen) +
                           " (task.labels)");
}

// What the labels of a regression are called in the files, for each: as [data] has it, or as sources do.
std::vector<std::vector<std::string>> named_in_files(const config::Config& config) {
    std::vector<std::vector<std::string>> names;
    for (const auto& name : label_columns(config)) names.push_back({name});
    if (names.size() > 1 || config.data.sources.empty()) return names;
    std::vector<std::string> of_sources;
    for (const auto& source : config.data.sources) {
        const auto& name = source.label_column.empty() ? config.data.label_column : source.label_column;
        if (std::ranges::find(of_sources, name) == of_sources.end()) of_sources.push_back(name);
    }
    return {std::move(of_sources)};
}

// Columns of a regression in which all values are one.
void warn_constant(const std::vector<double>& values, const config::Config& config,
                   std::vector<std::string>& warnings) {
    const auto names = named_in_files(config);
    for (std::size_t column = 0; column < names.size(); ++column) {
        bool varies = false;
        double first = std::nan("");
        for (std::size_t i = column; i < values.size(); i += names.size()) {
            if (std::isnan(values[i])) continue;
            if (std::isnan(first)) first = values[i];
            varies = varies || values[i] != first;
        }
        if (varies || values.empty()) continue;
        const bool one = names[column].size() == 1;
        warnings.push_back(std::string(train_key(config.data)) + ": the column" + (one ? " " : "s ") +
                           quoted_list(names[column]) + (one ? " has" : " have") +
                           " no two different values: there is nothing to learn");
    }
}

void scale(const Parts& train, LabelledTexts& eval, const config::Config& config, const LabelScale& known,
           Splits& splits) {
    std::vector<double> values;
    for (const auto& texts : train)
        values.insert(values.end(), texts->values().begin(), texts->values().end());
    warn_constant(values, config, splits.warnings);
    if (!config.task.standardize) return;
    splits.scale = known.mean.empty() ? scale_of(values, label_columns(config).size()) : known;
    for (const auto& texts : train) texts->set_scale(splits.scale);
    eval.set_scale(splits.scale);
}

}  // namespace

std::string text_problem(std::string_view text, const config::DataConfig& data, const Tokenizer& tokenizer) {
    using Kind = config::TokenizerKind;
    auto problem = data.tokenizer == Kind::bytes ? "" : utf8_problem(text);
    return problem.empty() && data.tokenizer != Kind::smiles ? tokenizer.problem_in(text) : problem;
}

void LabelledTexts::add(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& token_type_ids,
                        const RowLabels& labels) {
    texts_.add(ids);
    segments_.insert(segments_.end(), token_type_ids.begin(), token_type_ids.end());
    values_.insert(values_.end(), labels.values.begin(), labels.values.end());
    if (labels.values.empty()) labels_.push_back(static_cast<std::int32_t>(labels.number));
}

Sample LabelledTexts::get(std::int64_t index, std::int64_t) const {
    const auto ids = texts_.text(index);
    Sample sample;
    sample.ids.assign(ids.begin(), ids.end());
    if (!segments_.empty())
        sample.token_type_ids.assign(segments_.begin() + texts_.begin(index),
                                     segments_.begin() + texts_.end(index));
    if (values_.empty()) {
        sample.labels = {labels_[static_cast<std::size_t>(index)]};
        return sample;
    }
    const auto columns = values_.size() / static_cast<std::size_t>(size());
    const auto values = std::span(values_).subspan(static_cast<std::size_t>(index) * columns, columns);
    for (std::size_t column = 0; column < columns; ++column)
        sample.float_labels.push_back(static_cast<float>(scale_.learnt(column, values[column])));
    return sample;
}

Splits read_labelled_texts(const config::Config& config, const Tokenizer& tokenizer,
                           const LabelScale& known) {
    const auto& data = config.data;
    const auto max_length = config.batch.max_length;
    Parts train;
    for (std::size_t i = sources_of(data).size(); i > 0; --i)
        train.push_back(std::make_shared<LabelledTexts>());
    const auto eval = std::make_shared<LabelledTexts>();
    SplitRequest request{data, label_columns(config)};
    request.label = request.columns == std::vector{data.label_column};
    const auto first_text = request.key = request.columns.size();
    request.columns.push_back(data.text_column);
    if (!data.pair_column.empty()) request.columns.push_back(data.pair_column);
    Splits splits;
    request.tokenizer = &tokenizer;
    const auto use = [&](const RowWay& way, const Row& row) -> RowWork {
        const auto texts = std::span(row.values).subspan(first_text);
        const auto labels = labels_of(config, std::span(row.values).first(first_text),
                                      std::span(way.columns).first(first_text));
        if (!labels.fault.empty()) return RowUse{false, false, labels.fault, labels.rule, labels.column};
        if (std::all_of(texts.begin(), texts.end(), blank)) return RowUse{false, false, "", {}};
        for (std::size_t i = 0; i < texts.size(); ++i) {
            if (auto fault = text_problem(texts[i], data, tokenizer); !fault.empty())
                return unusable_text(std::move(fault), texts[i], data.bad_row, first_text + i);
        }
        const auto take = [&, labels, to = way.eval ? eval : train[way.source]](TokenLists tokens) {
            FramedTokens framed;
            if (data.pair_column.empty())
                framed.ids = tokenizer.with_specials(std::move(tokens[0]), max_length, &framed.cut);
            else
                framed = tokenizer.pair_of(std::move(tokens[0]), std::move(tokens[1]), max_length);
            if (framed.cut && data.on_long == config::LongText::error)
                return too_long(max_length, first_text);
            to->add(framed.ids, framed.token_type_ids, labels);
            return RowUse{true, framed.cut, "", {}};
        };
        return {{texts.begin(), texts.end()}, take};
    };
    read_splits(request, use, splits);
    set_samples(data, static_cast<std::uint64_t>(config.run.seed), {train.begin(), train.end()}, eval,
                splits);
    if (config.task.kind == config::TaskKind::regression) {
        scale(train, *eval, config, known, splits);
    } else {
        warn_unseen(train_key(data), train, config, splits.warnings);
        warn_unseen(eval_key(data), {eval}, config, splits.warnings);
    }
    return splits;
}

}  // namespace switchyard::data
