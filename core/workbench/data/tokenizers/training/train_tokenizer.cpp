#include "core/workbench/data/tokenizers/training/train_tokenizer.h"

#include <sentencepiece_trainer.h>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/bert_normalizer.h"
#include "core/workbench/data/tokenizers/pipeline/byte_alphabet.h"
#include "core/workbench/data/tokenizers/pipeline/pre_tokenizer.h"

namespace switchyard::data {
namespace {

void add_byte_words(std::string_view text, WordCounts& words) {
    static const ByteLevelWords cutter({false, true, false});
    CutMemory memory;
    std::vector<TextPart> parts;
    cutter.cut({text, 0}, parts, memory);
    for (const auto& part : parts) ++words[std::string(part.text)];
}

std::vector<TokenizerFile> byte_pair_files(const WordCounts& words, std::size_t size) {
    MergeSettings settings;
    settings.size = size;
    settings.before = {"<|endoftext|>"};
    for (unsigned byte = 0; byte < 256; ++byte)
        settings.alphabet += character_of_byte(static_cast<unsigned char>(byte));
    const auto learned = learn_merges(words, settings);
    auto vocabulary = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < learned.tokens.size(); ++i) vocabulary[learned.tokens[i]] = i;
    std::string merges = "#version: 0.2\n";
    for (const auto& [left, right] : learned.merges) merges += left + " " + right + "\n";
    return {{"vocab.json", vocabulary.dump() + "\n"}, {"merges.txt", merges}};
}

std::vector<TokenizerFile> wordpiece_files(const WordCounts& words, std::size_t size) {
    MergeSettings settings;
    settings.size = size;
    settings.continuing = "##";
    settings.before = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    std::string lines;
    for (const auto& token : learn_merges(words, settings).tokens) lines += token + "\n";
    return {{"vocab.txt", lines}};
}

class Sentences final : public sentencepiece::SentenceIterator {
public:
    explicit Sentences(const std::vector<std::string>& sentences) : sentences_(sentences) {}
    bool done() const override { return at_ == sentences_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return sentences_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    const std::vector<std::string>& sentences_;
    std::size_t at_ = 0;
};

std::vector<TokenizerFile> sentencepiece_files(const std::vector<std::string>& texts, const char* model,
                                               std::size_t size) {
    Sentences sentences(texts);
    std::string bytes;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        std::unordered_map<std::string, std::string>{{"model_type", model},
                                                     {"vocab_size", std::to_string(size)},
                                                     {"pad_id", "0"},
                                                     {"eos_id", "1"},
                                                     {"unk_id", "2"},
                                                     {"bos_id", "-1"},
                                                     {"pad_piece", "<pad>"},
                                                     {"num_threads", "1"},  // the same pieces on any machine
                                                     {"minloglevel", "2"}},
        &sentences, &bytes);
    if (!status.ok())
        throw base::InputError("SentencePiece makes no vocabulary of " + std::to_string(size) +
                               " pieces of these texts: " + std::string(status.message()));
    return {{"tokenizer.model", bytes}};
}

}  // namespace

void TokenizerTrainer::add(std::string_view text) {
    ++texts_;
    switch (settings_.model) {
        case TokenizerModel::bpe:
            return add_byte_words(text, words_);
        case TokenizerModel::wordpiece:
            return for_each_bert_word(text, settings_.lower_case,
                                      [&](std::string_view word) { ++words_[std::string(word)]; });
        default:
            sentences_.emplace_back(text);
    }
}

std::vector<TokenizerFile> TokenizerTrainer::finish() const {
    if (texts_ == 0) throw base::InputError("there is no text to learn a vocabulary from");
    switch (settings_.model) {
        case TokenizerModel::bpe:
            return byte_pair_files(words_, settings_.size);
        case TokenizerModel::wordpiece:
            return wordpiece_files(words_, settings_.size);
        case TokenizerModel::unigram:
            return sentencepiece_files(sentences_, "unigram", settings_.size);
        default:
            return sentencepiece_files(sentences_, "bpe", settings_.size);
    }
}

}  // namespace switchyard::data
