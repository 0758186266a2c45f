#include "core/workbench/data/tokenizers/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"

namespace switchyard::data {
namespace {

void require_done(const sentencepiece::util::Status& status, const std::string& what) {
    if (!status.ok()) throw base::InputError(what + ": error: " + base::quoted(status.ToString()));
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const TokenizerFile& model, const ModelSettings& settings,
                                               std::vector<TokenizerFile> kept)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()), files_(std::move(kept)) {
    const auto loaded = processor_->LoadFromSerializedProto(model.bytes);
    if (!loaded.ok() || size() == 0)
        throw base::InputError(model.name + ": error: is no model of SentencePiece" +
                               (loaded.ok() ? "" : ": " + base::quoted(loaded.ToString())));
    specials_ = {processor_->pad_id(), processor_->bos_id(), processor_->eos_id(), processor_->unk_id(), -1};
    const auto& names = settings.names;
    const auto use = [&](std::int64_t& id, const std::string& name) {
        if (const auto found = find(name); found >= 0) id = found;
    };
    for (const auto* mask : {"[MASK]", "<mask>"}) use(specials_.mask, mask);
    use(specials_.mask, names.mask);
    use(specials_.bos, names.cls);
    use(specials_.bos, names.bos);
    use(specials_.eos, names.sep);
    use(specials_.eos, names.eos);
    use(specials_.pad, names.pad);
    const auto all = specials_;
    if (!settings.add_bos.value_or(true)) specials_.bos = -1;
    if (!settings.add_eos.value_or(true)) specials_.eos = -1;
    use_plain_frames();
    specials_ = all;
    std::vector<AddedToken> strangers;
    for (const auto& token : settings.added) {
        if (find(token.content) >= 0) continue;
        strangers.push_back(token);
        strangers.back().normalized = false;
    }
    if (strangers.empty()) leave_out_added_tokens(files_);
    strangers_ = std::make_unique<const AddedTokens>(std::move(strangers), Normalizers{});
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::int64_t SentencePieceTokenizer::find(const std::string& piece) const {
    if (piece.empty()) return -1;
    const auto id = processor_->PieceToId(piece);
    return id >= 0 && processor_->IdToPiece(id) == piece ? id : -1;
}

std::int64_t SentencePieceTokenizer::size() const { return processor_->GetPieceSize(); }

std::vector<std::int64_t> SentencePieceTokenizer::encode(std::string_view text) const {
    std::vector<int> ids;
    require_done(processor_->Encode({text.data(), text.size()}, &ids), "SentencePiece");
    return {ids.begin(), ids.end()};
}

std::string SentencePieceTokenizer::decode(const std::vector<std::int64_t>& ids) const {
    std::vector<int> known;
    for (const auto id : ids) {
        const bool special = id == specials_.pad || id == specials_.bos || id == specials_.eos;
        if (id >= 0 && id < size() && !special) known.push_back(static_cast<int>(id));
    }
    std::string text;
    require_done(processor_->Decode(known, &text), "SentencePiece");
    return text;
}

std::string SentencePieceTokenizer::problem_in(std::string_view text) const {
    if (auto problem = utf8_problem(text); !problem.empty()) return problem;
    std::string token;
    strangers_->find_all(text, false, [&](std::int64_t id, std::size_t, std::size_t) {
        if (id >= 0 && token.empty()) token = strangers_->find(id)->content;
    });
    if (token.empty()) return "";
    return "has the added token '" + base::quoted(token) +
           "', which is not taken with a model of SentencePiece; expected a tokenizer.json that has it";
}

}  // namespace switchyard::data
