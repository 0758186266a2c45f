#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

namespace switchyard::data {
namespace {

using What = FramePart::What;
constexpr auto most_numbers = static_cast<std::int64_t>(base::limits::vocabulary_entries);
constexpr std::int64_t most_segments = 1000;

// ["[SEP]", 102]
std::int64_t number_of_pair(const JsonField& field) {
    const auto pair = field.list();
    if (pair.size() != 2) field.fail("expected a token and its number");
    static_cast<void>(pair[0].text());
    return pair[1].integer(0, most_numbers);
}

// BERT: cls first sep second sep, in segments 0 and 1;  RoBERTa: cls first sep sep second sep, in segment 0.
void frames_of_bert(const JsonField& field, bool roberta, TokenizerParts& parts) {
    const FramePart cls{What::token, number_of_pair(field.at("cls")), 0};
    const FramePart sep{What::token, number_of_pair(field.at("sep")), 0};
    const std::int64_t segment = roberta ? 0 : 1;
    parts.frame = {cls, {What::first, -1, 0}, sep};
    parts.pair_frame = parts.frame;
    if (roberta) parts.pair_frame.push_back(sep);
    parts.pair_frame.push_back({What::second, -1, segment});
    parts.pair_frame.push_back({What::token, sep.id, segment});
}

// {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}}
void add_template_part(const JsonField& part, const JsonField& tokens, TextFrame& frame) {
    part.only({"SpecialToken", "Sequence"});
    if (const auto text = part.find("Sequence")) {
        const auto which = text->at("id").one_of({"A", "B"});
        frame.push_back(
            {which == 0 ? What::first : What::second, -1, text->at("type_id").integer(0, most_segments)});
        return;
    }
    const auto token = part.at("SpecialToken");
    const auto name = token.at("id").text();
    const auto segment = token.at("type_id").integer(0, most_segments);
    const auto known = tokens.find(name.c_str());
    if (!known) token.at("id").fail("'" + base::quoted(name) + "' is none of special_tokens");
    for (const auto& id : known->at("ids").list())
        frame.push_back({What::token, id.integer(0, most_numbers), segment});
}

TextFrame read_template(const JsonField& field, const JsonField& tokens, bool pair) {
    TextFrame frame;
    std::size_t firsts = 0, seconds = 0;
    for (const auto& part : field.list()) {
        add_template_part(part, tokens, frame);
        const auto what = frame.empty() ? What::token : frame.back().what;
        firsts += what == What::first ? 1 : 0;
        seconds += what == What::second ? 1 : 0;
    }
    if (firsts != 1 || seconds != (pair ? 1U : 0U))
        field.fail(pair ? "expected the sequences A and B, each once" : "expected the sequence A once");
    return frame;
}

// Whether it put something around the text.
bool read_processor(const JsonField& field, TokenizerParts& parts) {
    const auto type = field.at("type").one_of(
        {"BertProcessing", "RobertaProcessing", "TemplateProcessing", "ByteLevel", "Sequence"});
    switch (type) {
        case 0:
            field.only({"type", "sep", "cls"});
            frames_of_bert(field, false, parts);
            return true;
        case 1:
            field.only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
            frames_of_bert(field, true, parts);
            return true;
        case 2: {
            field.only({"type", "single", "pair", "special_tokens"});
            const auto tokens = field.at("special_tokens");
            parts.frame = read_template(field.at("single"), tokens, false);
            parts.pair_frame = read_template(field.at("pair"), tokens, true);
            return true;
        }
        case 3:
            field.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
            return false;
        default:
            break;
    }
    field.only({"type", "processors"});
    bool framed = false;
    for (const auto& part : field.at("processors").list()) {
        if (!read_processor(part, parts)) continue;
        if (framed) part.fail("a second processor that puts tokens around a text is not taken");
        framed = true;
    }
    return framed;
}

}  // namespace

void read_frames(const JsonField& field, TokenizerParts& parts) {
    parts.frame = {{What::first, -1, 0}};
    parts.pair_frame = {{What::first, -1, 0}, {What::second, -1, 1}};
    if (!field.is_null()) read_processor(field, parts);
}

}  // namespace switchyard::data
