// Growing rows of a made-up model: a function from tokens to logits, and a count of what it was asked.
#pragma once

#include <functional>
#include <stdexcept>

#include <ATen/ops/empty.h>

#include "core/workbench/data/splitmix64.h"
#include "core/workbench/infer/growing_rows.h"

namespace switchyard::test {

class ScriptedRows final : public infer::GrowingRows {
public:
    using Script = std::function<std::vector<float>(const infer::Beginning& row)>;
    explicit ScriptedRows(Script script) : script_(std::move(script)) {}

    at::Tensor begin(const std::vector<infer::Beginning>& rows) override {
        rows_ = rows;
        begun += rows.size();
        return logits(1).squeeze(1);
    }

    at::Tensor append(const std::vector<infer::Ids>& tokens) override {
        if (tokens.size() != rows_.size()) throw std::logic_error("tokens for another number of rows");
        ++appended;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (tokens[i].empty() || tokens[i].size() != tokens[0].size())
                throw std::logic_error("not as many tokens for each row");
            rows_[i].grown.insert(rows_[i].grown.end(), tokens[i].begin(), tokens[i].end());
            longest = std::max(longest, rows_[i].grown.size());
        }
        widest = std::max(widest, tokens.size());
        return logits(tokens.at(0).size());
    }

    void select(const std::vector<std::int64_t>& rows) override {
        std::vector<infer::Beginning> selected;
        for (const auto row : rows) selected.push_back(rows_.at(static_cast<std::size_t>(row)));
        rows_ = std::move(selected);
    }

    void take_back(const std::vector<std::int64_t>& counts) override {
        if (counts.size() != rows_.size()) throw std::logic_error("counts for another number of rows");
        for (std::size_t i = 0; i < counts.size(); ++i)
            rows_[i].grown.resize(rows_[i].grown.size() - static_cast<std::size_t>(counts[i]));
    }

    std::size_t begun = 0, appended = 0, widest = 0, longest = 0;

private:
    at::Tensor logits(std::size_t count) const {
        at::Tensor all;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (std::size_t n = 0; n < count; ++n) {
                auto row = rows_[i];
                row.grown.resize(row.grown.size() - (count - 1 - n));
                const auto values = script_(row);
                const auto size = static_cast<std::int64_t>(values.size());
                if (!all.defined())
                    all = at::empty(
                        {static_cast<std::int64_t>(rows_.size()), static_cast<std::int64_t>(count), size});
                std::copy(values.begin(), values.end(),
                          all.data_ptr<float>() + (static_cast<std::int64_t>(i * count + n)) * size);
            }
        }
        return all;
    }

    Script script_;
    std::vector<infer::Beginning> rows_;
};

// Logits in [-spread, spread] that depend on all tokens, and on the number of the model.
inline ScriptedRows::Script random_model(std::int64_t vocabulary, std::uint64_t number, double spread = 2.0) {
    return [=](const infer::Beginning& row) {
        std::uint64_t seed = number;
        for (const auto token : row.source) seed = data::SplitMix64(seed, token, 1).next();
        for (const auto token : row.grown) seed = data::SplitMix64(seed, token, 2).next();
        data::SplitMix64 random(seed, 0, 0);
        std::vector<float> logits;
        for (std::int64_t i = 0; i < vocabulary; ++i)
            logits.push_back(static_cast<float>(spread * (2.0 * random.share() - 1.0)));
        return logits;
    };
}

}  // namespace switchyard::test
