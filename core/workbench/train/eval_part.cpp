#include "core/workbench/train/eval_part.h"

#include <algorithm>
#include <cstring>

#include "core/workbench/train/data_parallel.h"

namespace switchyard::train {
namespace {

// Numbers travel as their bytes, so that a NaN is one and no digit is lost.
std::string bytes_of(const std::vector<double>& numbers) {
    std::string bytes(numbers.size() * sizeof(double), '\0');
    if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

std::vector<double> numbers_from(const std::string& bytes) {
    std::vector<double> numbers(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
    return numbers;
}

// What is no text: counts and losses, those of the worst samples behind them.
std::vector<double> figures_of(const EvalPart& part) {
    std::vector<double> figures{part.loss,
                                static_cast<double>(part.hits),
                                static_cast<double>(part.labels),
                                static_cast<double>(part.samples),
                                part.complete ? 1.0 : 0.0,
                                part.with_logits ? 1.0 : 0.0};
    for (const auto& sample : part.worst) {
        figures.push_back(static_cast<double>(sample.sample));
        figures.push_back(sample.loss);
    }
    return figures;
}

void add_figures(EvalPart& all, const std::vector<double>& figures) {
    all.loss += figures[0];
    all.hits += static_cast<std::int64_t>(figures[1]);
    all.labels += static_cast<std::int64_t>(figures[2]);
    all.samples += static_cast<std::int64_t>(figures[3]);
    all.complete = all.complete && figures[4] != 0.0;
    all.with_logits = all.with_logits && figures[5] != 0.0;
    for (std::size_t i = 6; i + 1 < figures.size(); i += 2)
        all.worst.push_back({static_cast<std::int64_t>(figures[i]), figures[i + 1], "", ""});
}

// The labels of the worst samples, each ended by a zero byte.
std::string labels_of_worst(const EvalPart& part) {
    std::string text;
    for (const auto& sample : part.worst) {
        text.append(sample.label).push_back('\0');
        text.append(sample.predicted).push_back('\0');
    }
    return text;
}

void name_worst(std::vector<WorstSample>& worst, const std::string& text) {
    std::size_t begin = 0;
    const auto next = [&] {
        const auto end = std::min(text.find('\0', begin), text.size());
        auto label = text.substr(std::min(begin, text.size()), end - std::min(begin, end));
        begin = end + 1;
        return label;
    };
    for (auto& sample : worst) {
        sample.label = next();
        sample.predicted = next();
    }
}

}  // namespace

EvalPart join_parts(const distributed::Mesh& mesh, const EvalPart& own) {
    auto& group = mesh.world();
    // Ranks that have the same samples say the same.
    const auto texts_of_batches = [&](const std::string& text) {
        std::vector<std::string> texts;
        std::int64_t rank = 0;
        for (auto& one : gather_texts(group, text))
            if (mesh.speaks_for_batches(rank++)) texts.push_back(std::move(one));
        return texts;
    };
    // A part may take longer than ranks otherwise wait for each other.
    const auto number = group.store().add("evaluations/" + std::to_string(group.rank()), 1);
    distributed::meet(group.store(), group.place(), "evaluated " + std::to_string(number), "",
                      long_wait_seconds);
    EvalPart all;
    all.complete = all.with_logits = true;
    for (const auto& figures : texts_of_batches(bytes_of(figures_of(own))))
        add_figures(all, numbers_from(figures));
    for (const auto& numbers : texts_of_batches(bytes_of(own.numbers))) {
        const auto more = numbers_from(numbers);
        all.numbers.insert(all.numbers.end(), more.begin(), more.end());
    }
    std::string labels;
    for (const auto& text : texts_of_batches(labels_of_worst(own))) labels += text;
    name_worst(all.worst, labels);
    return all;
}

}  // namespace switchyard::train
