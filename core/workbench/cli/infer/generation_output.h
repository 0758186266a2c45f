// What `generate` writes: texts for people, JSON, JSON Lines, and at the end how fast it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/cli/data/text_rows.h"
#include "core/workbench/cli/json_lines.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/infer/generate.h"

namespace switchyard::cli {

struct GenerationOutputOptions {
    bool check_smiles = false;
    bool stream = false;  // texts are written as they come
    bool scores = false;  // there are some: of beams
    JsonOption json;
    JsonLinesOption lines;

    bool prints_texts() const { return !json.on_stdout() && !lines.given(); }
};

class GenerationOutput {
public:
    explicit GenerationOutput(const GenerationOutputOptions& options);

    // A piece of a streamed text, shown at once; `last`: the text is whole with it.
    void piece(const std::string& text, bool last);
    // The samples of one prompt. `row`: where the prompt stands; nullptr: nowhere, and then a sample that
    // was interrupted is told too, as far as it came.
    void add(const std::string& prompt, const std::vector<infer::GeneratedText>& samples, const TextRow* row);
    // What was added is there for whoever reads.
    void flush();
    // All is written. `drafts`: a smaller model drafted.
    void finish(const infer::GenerationSpeed& speed, const infer::Speculation* drafts, bool interrupted);

private:
    void add_fault(nlohmann::ordered_json& line, const infer::GeneratedText& sample);

    const GenerationOutputOptions& options_;
    JsonLines lines_;
    nlohmann::ordered_json samples_ = nlohmann::ordered_json::array();
    std::int64_t count_ = 0, well_bracketed_ = 0;
};

}  // namespace switchyard::cli
