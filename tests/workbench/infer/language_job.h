// Jobs of language models that take a second: a GPT of molecules, a T5 of pairs, a BERT of hidden words.
#pragma once

#include "tiny_job.h"

namespace switchyard::test {

class LanguageJob {
public:
    // Writes gpt.toml (SMILES in packed_lm blocks of mol.smi), t5.toml (bytes, lines of a.en and a.de) and
    // bert.toml (masked words of the tiny job's reviews).
    LanguageJob();

    const TinyJob& files() const { return job_; }
    std::string file(const std::string& name) const { return job_.file(name); }
    // Trains NAME.toml into run folder `run`; requires that it works.
    Outcome trained(const std::string& name, const std::string& run, const Words& sets = {}) const;
    nlohmann::json summary(const std::string& run) const;
    // What `generate` prints, a line each.
    Words written(const std::string& run, const Words& more) const;

private:
    TinyJob job_;
};

// "train NAME.toml --run RUN" with each "key=value" as --set.
Words with_sets(Words words, const Words& sets);

}  // namespace switchyard::test
