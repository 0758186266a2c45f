#include "core/workbench/data/tokenizers/pipeline/pipeline_tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"
#include "core/workbench/data/tokenizers/pipeline/word_cache.h"

namespace switchyard::data {

struct PipelineTokenizer::Work {
    CutMemory cuts;
    std::vector<TextPart> parts, cut_parts;
    WordCache cache;
};

class PipelineTokenizer::BorrowedWork {
public:
    explicit BorrowedWork(const PipelineTokenizer& owner) : owner_(owner) {
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.idle_.empty()) {
            work_ = std::move(owner_.idle_.back());
            owner_.idle_.pop_back();
        } else {
            work_ = std::make_unique<Work>();
        }
    }
    ~BorrowedWork() {
        work_->cuts.texts.clear();
        const std::lock_guard lock(owner_.mutex_);
        owner_.idle_.push_back(std::move(work_));
    }
    BorrowedWork(const BorrowedWork&) = delete;
    BorrowedWork& operator=(const BorrowedWork&) = delete;
    Work& operator*() const { return *work_; }

private:
    const PipelineTokenizer& owner_;
    std::unique_ptr<Work> work_;
};

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts)
    : parts_(std::move(parts)), added_(parts_.added, parts_.normalizers), size_(parts_.model->end()) {
    for (const auto& token : added_.all()) size_ = std::max(size_, token.id + 1);
    specials_ = parts_.specials;
    frame_ = parts_.frame;
    pair_frame_ = parts_.pair_frame;
}

PipelineTokenizer::~PipelineTokenizer() = default;

std::vector<std::int64_t> PipelineTokenizer::encode(std::string_view text) const {
    std::string repaired;
    if (find_invalid_utf8(text) != std::string_view::npos) text = repaired = repaired_utf8(text);
    const BorrowedWork borrowed(*this);
    auto& work = *borrowed;
    std::vector<std::int64_t> ids;
    ids.reserve(text.size() / 3);
    added_.find_all(text, false, [&](std::int64_t id, std::size_t begin, std::size_t end) {
        if (id >= 0) return ids.push_back(id);
        NormalizedText spelled;
        TextPart part{text.substr(begin, end - begin), begin == 0 ? code_point_at(text, 0).size : 0};
        if (!parts_.normalizers.empty()) {
            spelled = {std::string(part.text), part.from_start};
            for (const auto& normalizer : parts_.normalizers) normalizer->apply(spelled);
            part = {spelled.text, spelled.from_start};
        }
        added_.find_all(part.text, true, [&](std::int64_t inner, std::size_t from, std::size_t to) {
            if (inner >= 0) return ids.push_back(inner);
            encode_part(part.part(from, to), work, ids);
        });
    });
    return ids;
}

void PipelineTokenizer::encode_part(const TextPart& part, Work& work, std::vector<std::int64_t>& ids) const {
    if (part.text.empty()) return;
    if (parts_.pre_tokenizers.empty()) return encode_word(part.text, work, ids);
    auto &now = work.parts, &next = work.cut_parts;
    now.assign(1, part);
    for (const auto& pre_tokenizer : parts_.pre_tokenizers) {
        next.clear();
        for (const auto& piece : now) pre_tokenizer->cut(piece, next, work.cuts);
        std::swap(now, next);
    }
    for (const auto& word : now) encode_word(word.text, work, ids);
}

void PipelineTokenizer::encode_word(std::string_view word, Work& work, std::vector<std::int64_t>& ids) const {
    work.cache.add_tokens(word, ids, [&] { parts_.model->add_tokens(word, ids); });
}

std::string PipelineTokenizer::decode(const std::vector<std::int64_t>& ids) const {
    TokenStrings texts;
    for (const auto id : ids) {
        const auto* const added = added_.find(id);
        const auto* const name = added != nullptr ? &added_.spelling(*added) : parts_.model->name(id);
        if (name != nullptr && !added_.is_special(*name)) texts.push_back(*name);
    }
    if (texts.empty()) return "";
    for (const auto& decoder : parts_.decoders) decoder->apply(texts);
    std::string text;
    for (std::size_t i = 0; i < texts.size(); ++i)
        text.append(i > 0 && !parts_.decodes ? " " : "").append(texts[i]);
    return text;
}

std::string PipelineTokenizer::problem_in(std::string_view text) const {
    if (auto problem = utf8_problem(text); !problem.empty()) return problem;
    if (!parts_.model->may_fail()) return "";
    try {
        encode(text);
        return "";
    } catch (const base::InputError& error) {
        return error.what();
    }
}

std::int64_t PipelineTokenizer::find(const std::string& token) const {
    for (const auto& added : added_.all()) {
        if (added.content == token) return added.id;
    }
    return parts_.model->find(token);
}

}  // namespace switchyard::data
