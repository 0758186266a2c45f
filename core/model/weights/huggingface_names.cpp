#include <switchyard/model/weights/huggingface_names.h>

#include <algorithm>
#include <array>
#include <span>

namespace switchyard::model {
namespace {

// Beginnings of names, '#' standing for a layer's number; what follows ("weight", "bias") is the same on both sides.
struct Pair {
    std::string_view ours;
    std::string_view theirs;
};

constexpr std::array<Pair, 18> bert{
    {{"embeddings.word", "bert.embeddings.word_embeddings.weight"},
     {"embeddings.position", "bert.embeddings.position_embeddings.weight"},
     {"embeddings.segment", "bert.embeddings.token_type_embeddings.weight"},
     {"embeddings.norm.", "bert.embeddings.LayerNorm."},
     {"encoder.#.attention.q.", "bert.encoder.layer.#.attention.self.query."},
     {"encoder.#.attention.k.", "bert.encoder.layer.#.attention.self.key."},
     {"encoder.#.attention.v.", "bert.encoder.layer.#.attention.self.value."},
     {"encoder.#.attention.out.", "bert.encoder.layer.#.attention.output.dense."},
     {"encoder.#.attention.norm.", "bert.encoder.layer.#.attention.output.LayerNorm."},
     {"encoder.#.feed_forward.in.", "bert.encoder.layer.#.intermediate.dense."},
     {"encoder.#.feed_forward.out.", "bert.encoder.layer.#.output.dense."},
     {"encoder.#.feed_forward.norm.", "bert.encoder.layer.#.output.LayerNorm."},
     {"pooler.", "bert.pooler.dense."},
     {"masked_lm.dense.", "cls.predictions.transform.dense."},
     {"masked_lm.norm.", "cls.predictions.transform.LayerNorm."},
     {"masked_lm.bias", "cls.predictions.bias"},
     {"masked_lm.out.", "cls.predictions.decoder."},
     {"next_sentence.", "cls.seq_relationship."}}};
constexpr Pair classifier{"classifier.", "classifier."};

// Replaces the beginning `from` of `name` by `to`, carrying the layer's number over.
std::optional<std::string> translate(std::string_view name, std::string_view from, std::string_view to) {
    const auto number = from.find('#');
    if (number == std::string_view::npos) {
        if (!name.starts_with(from)) return std::nullopt;
        return std::string(to) + std::string(name.substr(from.size()));
    }
    if (!name.starts_with(from.substr(0, number))) return std::nullopt;
    const auto digits = std::min(name.find_first_not_of("0123456789", number), name.size());
    const auto rest = from.substr(number + 1);
    if (digits == number || !name.substr(digits).starts_with(rest)) return std::nullopt;
    const auto hash = to.find('#');
    return std::string(to.substr(0, hash)) + std::string(name.substr(number, digits - number)) +
           std::string(to.substr(hash + 1)) + std::string(name.substr(digits + rest.size()));
}

std::span<const Pair> pairs_of(config::ModelType type) {
    if (type == config::ModelType::bert) return bert;
    return {};
}

std::string modern_spelling(std::string_view theirs) {
    std::string name(theirs);
    for (const auto& [old_end, new_end] : {Pair{".gamma", ".weight"}, Pair{".beta", ".bias"}}) {
        if (name.ends_with(old_end)) name.replace(name.size() - old_end.size(), old_end.size(), new_end);
    }
    return name;
}

}  // namespace

std::optional<std::string> to_huggingface(config::ModelType type, std::string_view ours) {
    for (const auto& pair : pairs_of(type)) {
        if (auto name = translate(ours, pair.ours, pair.theirs)) return name;
    }
    return translate(ours, classifier.ours, classifier.theirs);
}

std::optional<std::string> from_huggingface(config::ModelType type, std::string_view theirs) {
    const auto spelled = modern_spelling(theirs);
    for (const auto& pair : pairs_of(type)) {
        if (auto name = translate(spelled, pair.theirs, pair.ours)) return name;
        if (pair.theirs.starts_with("bert.")) {
            if (auto name = translate(spelled, pair.theirs.substr(5), pair.ours)) return name;
        }
    }
    return translate(spelled, classifier.theirs, classifier.ours);
}

}  // namespace switchyard::model
