// A text and the text to answer it with (translation): source text, eos; target_ids: the start token and the
// answer; labels: the answer, eos.
#pragma once

#include "core/workbench/data/splits.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

class PairSamples final : public SampleSource {
public:
    // `start`: what a decoder begins with; T5 takes the pad token.
    explicit PairSamples(std::int64_t start) : start_(start) {}
    // Both with eos at their ends.
    void add(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target);

    std::int64_t size() const override { return sources_.size(); }
    std::int64_t length(std::int64_t index) const override {
        return sources_.length(index) + targets_.length(index);
    }
    std::int64_t target_length(std::int64_t index) const override { return targets_.length(index); }
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    std::int64_t start_;
    TokenStore sources_, targets_;
};

// From two columns (data.target_column) or from the lines of two files (data.target_train, data.target_eval).
// Both texts are cut to `max_length` tokens, eos included. `seed`: of what is drawn from several sources.
Splits read_pairs(const config::DataConfig& data, std::int64_t max_length, const Tokenizer& tokenizer,
                  std::uint64_t seed = 0);

// What the texts themselves are, row by row as read_pairs takes them: to compare answers with. Those to
// evaluate on, `most` of them or all (0).
struct TextPair {
    std::string source, target;
};
std::vector<TextPair> read_text_pairs(const config::DataConfig& data, const Tokenizer& tokenizer,
                                      std::size_t most = 0);

}  // namespace switchyard::data
