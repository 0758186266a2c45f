#include "core/workbench/cli/infer/generation_output.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "core/workbench/cli/command.h"
#include "core/workbench/data/tokenizers/smiles_text.h"

namespace switchyard::cli {
namespace {

using infer::End;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> end_names{"eos", "stop", "limit", "interrupted"};

std::string_view name_of(End end) { return end_names.at(static_cast<std::size_t>(end)); }

template <class... Values>
std::string formatted(const char* format, Values... values) {
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(), format, values...);
    return text.data();
}

std::string speed_text(const infer::GenerationSpeed& speed) {
    auto text = formatted("prefill: %lld tokens, %.4g tokens/s, first token after %.4g ms",
                          static_cast<long long>(speed.prefill_tokens), speed.prefill_rate(),
                          1e3 * speed.first_token_seconds());
    if (speed.decoded_tokens > 0)
        text += formatted("; decode: %lld tokens, %.4g tokens/s",
                          static_cast<long long>(speed.decoded_tokens), speed.decode_rate());
    return text + "\n";
}

std::string draft_text(const infer::Speculation& drafts) {
    return formatted("draft: %lld of %lld drafted tokens accepted (%.1f %%)\n",
                     static_cast<long long>(drafts.accepted), static_cast<long long>(drafts.drafted),
                     100.0 * drafts.acceptance());
}

ordered_json speed_json(const infer::GenerationSpeed& speed) {
    const auto part = [](std::int64_t tokens, double seconds, double rate) {
        return ordered_json{{"tokens", tokens}, {"ms", 1e3 * seconds}, {"tokens_per_second", rate}};
    };
    return {{"prefill", part(speed.prefill_tokens, speed.prefill_seconds, speed.prefill_rate())},
            {"decode", part(speed.decoded_tokens, speed.decode_seconds, speed.decode_rate())},
            {"time_to_first_token_ms", 1e3 * speed.first_token_seconds()}};
}

ordered_json draft_json(const infer::Speculation& drafts) {
    return {{"drafted", drafts.drafted},
            {"accepted", drafts.accepted},
            {"acceptance", drafts.acceptance()},
            {"rounds", drafts.rounds}};
}

void require_stdout() {
    if (!std::cout.flush()) throw Failure("cannot write to the standard output", Exit::run_failed);
}

}  // namespace

GenerationOutput::GenerationOutput(const GenerationOutputOptions& options)
    : options_(options), lines_(options.lines) {}

void GenerationOutput::piece(const std::string& text, bool last) {
    base::print_data(last ? text + '\n' : text);
    require_stdout();
}

void GenerationOutput::add(const std::string& prompt, const std::vector<infer::GeneratedText>& samples,
                           const TextRow* row) {
    for (const auto& sample : samples) {
        if (sample.end == End::interrupted && (row != nullptr || sample.tokens == 0)) continue;
        ordered_json line;
        if (row != nullptr) line = {{"file", row->file}, {"line", row->line}};
        line.update(ordered_json{{"text", sample.text},
                                 {"tokens", sample.tokens},
                                 {"ended", sample.ended()},
                                 {"end", name_of(sample.end)}});
        if (options_.scores) line["score"] = sample.score;
        if (row != nullptr) line["prompt"] = prompt;
        if (options_.check_smiles) add_fault(line, sample);
        ++count_;
        lines_.add(line);
        if (!options_.json.path.empty()) samples_.push_back(std::move(line));
        if (options_.prints_texts() && !options_.stream) base::print_data(sample.text + '\n');
    }
}

void GenerationOutput::flush() {
    lines_.flush();
    require_stdout();
}

// A molecule that the limit cut off is none.
void GenerationOutput::add_fault(ordered_json& line, const infer::GeneratedText& sample) {
    const auto fault = !sample.ended()       ? "is not ended"
                       : sample.text.empty() ? "is empty"
                                             : data::bracket_fault(sample.text);
    well_bracketed_ += fault.empty() ? 1 : 0;
    line["well_bracketed"] = fault.empty();
    if (!fault.empty()) line["fault"] = fault;
}

void GenerationOutput::finish(const infer::GenerationSpeed& speed, const infer::Speculation* drafts,
                              bool interrupted) {
    ordered_json all{{"samples", samples_}};
    if (options_.check_smiles && count_ > 0) {
        all["well_bracketed_share"] = static_cast<double>(well_bracketed_) / static_cast<double>(count_);
        if (!options_.json.on_stdout())
            (options_.prints_texts() ? std::cout : std::cerr)
                << formatted("well bracketed: %lld of %lld (%.1f %%)\n",
                             static_cast<long long>(well_bracketed_), static_cast<long long>(count_),
                             100.0 * static_cast<double>(well_bracketed_) / static_cast<double>(count_));
    }
    all["speed"] = speed_json(speed);
    if (drafts != nullptr) all["draft"] = draft_json(*drafts);
    if (interrupted) all["interrupted"] = true;
    if (!interrupted || count_ > 0) lines_.finish();  // nothing takes no file's place
    write_json(options_.json, all);
    std::cout.flush();
    std::cerr << speed_text(speed) + (drafts != nullptr ? draft_text(*drafts) : "");
}

}  // namespace switchyard::cli
