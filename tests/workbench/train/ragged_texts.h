// Samples of unequal lengths for trainings of any task.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/task_config.h"

namespace switchyard::test {

// 23 texts of 2 to 24 tokens, so that no number of ranks or rows divides them; each is answered by one of
// another length, labelled as a whole, given a number, or labelled token by token, where some have no label.
class RaggedTexts final : public SampleSource {
public:
    explicit RaggedTexts(config::TaskKind kind, std::int64_t count = 23) : kind_(kind), count_(count) {}
    std::int64_t size() const override { return count_; }
    std::int64_t length(std::int64_t index) const override { return source(index) + target_length(index); }
    std::int64_t target_length(std::int64_t index) const override {
        return kind_ == config::TaskKind::seq2seq ? 2 + index * 7 % 13 : 0;
    }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        sample.ids = tokens(source(index), index);
        if (kind_ == config::TaskKind::seq2seq) sample.target_ids = tokens(target_length(index), index + 31);
        if (kind_ == config::TaskKind::classification) {
            sample.labels = {index % 3};
        } else if (kind_ == config::TaskKind::regression) {
            sample.float_labels = {static_cast<float>(index % 5)};
        } else {
            for (const auto id : kind_ == config::TaskKind::seq2seq ? sample.target_ids : sample.ids)
                sample.labels.push_back(id % 4 == 0 ? -100 : id);
        }
        return sample;
    }

private:
    static std::int64_t source(std::int64_t index) { return 2 + index * index % 23; }
    static std::vector<std::int64_t> tokens(std::int64_t count, std::int64_t index) {
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < count; ++i) ids.push_back(1 + (index * 7 + i * i * 3) % 49);
        return ids;
    }

    config::TaskKind kind_;
    std::int64_t count_;
};

}  // namespace switchyard::test
