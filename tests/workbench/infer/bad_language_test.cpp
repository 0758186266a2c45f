// What language models answer to input that cannot be used. To add a case: a line in a table.
#include "language_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("a language job that cannot be run says what to change") {
    const LanguageJob job;
    job.files().write("empty.smi", "");
    job.files().write("salt.smi", "CC\n[Na+ Cl\n");
    job.files().write("v.txt", "<pad>\n<bos>\n<eos>\n<unk>\n<mask>\nC\n");
    job.files().write("short.de", "Hund\n");
    struct Case {
        std::string config;
        Words sets;
        std::string expected;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {"gpt", {"data.train=[\"empty.smi\"]"}, "empty.smi: is empty; expected text"},
        {"gpt", {"data.train=[\"salt.smi\"]"}, "salt.smi:2:1: is no SMILES: '[' at column 1 begins no token"},
        {"gpt",
         {"data.vocabulary=v.txt"},
         "mol.smi:1:1: has the token '(' at column 3, which is not in the vocabulary"},
        {"gpt",
         {"model.vocab_size=12"},
         "error: model.vocab_size: smiles has 13 pieces, but model.vocab_size is 12"},
        {"gpt", {"batch.layout=padded"}, "texts in one block are kept apart in the packed layout only"},
        {"gpt", {"batch.min_length=2"}, "the end of a block may leave one token of a text"},
        {"gpt",
         {"data.blocks=none", "batch.min_length=12"},
         "samples of data.train are shorter; expected at most"},
        {"gpt", {"data.targets=spans"}, "spans are cut out for a seq2seq model, not for causal_lm"},
        {"t5", {"data.target_train=[\"short.de\"]"}, "short.de: has 1 lines, but "},
        {"t5",
         {"data.target_eval=[]"},
         "data.target_eval: expected one file for each of data.eval, 1; got 0"},
        {"t5", {"data.blocks=fixed"}, "samples of seq2seq do not come in fixed blocks"},
        {"bert", {"data.mask_token_share=0.95"}, "the two shares are more than one together"},
        {"bert",
         {"task.kind=multi_label", "data.blocks=none"},
         "task.labels: is missing; expected the name of at least one class"},
    }));
    INFO(c.config << " " << c.expected);
    auto sets = c.sets;
    for (auto& set : sets) {  // paths are relative to where the command runs
        const auto place = set.find("[\"");
        if (place != std::string::npos && set.starts_with("data.") && set.find("task") == std::string::npos)
            set.insert(place + 2, job.file(""));
        if (set == "data.vocabulary=v.txt") set = "data.vocabulary=" + job.file("v.txt");
    }
    const auto outcome =
        run(with_sets({"train", job.file(c.config + ".toml"), "--run", job.file("run")}, sets));
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains(c.expected));
    CHECK_FALSE(fs::exists(job.file("run/metrics.jsonl")));
}

TEST_CASE("generate refuses what it cannot write, and predict names it") {
    const LanguageJob job;
    job.trained("gpt", "gpt", {"train.steps=1"});
    job.trained("bert", "bert", {"train.steps=1"});
    job.files().write("none.txt", "");
    struct Case {
        Words words;
        std::string expected;
    };
    const auto c = GENERATE_COPY(values<Case>({
        {{"generate", "gpt", "--prompt", "C[Si]"},
         "the prompt has the token '[Si]' at column 2, which is not in the vocabulary"},
        {{"generate", "gpt", "--prompt", "C C"}, "the prompt is no SMILES: ' ' at column 2 begins no token"},
        {{"generate", "gpt", "--prompt", std::string(40, 'C')},
         "the prompt has 41 tokens; expected at most batch.max_length, 32"},
        {{"generate", "gpt", "--prompts", job.file("none.txt")},
         "none.txt: error: has no row; expected a text a row"},
        {{"generate", "gpt", "--prompts", job.file("not_there.txt")},
         "not_there.txt: cannot be opened: No such file or directory"},
        {{"generate", "gpt", "--prompts", job.file("none.txt"), "--from", job.file("none.txt")}, "excludes"},
        {{"generate", "gpt", "--set", "batch.min_length=4", "--set", "data.blocks=none"},
         "writing begins with one token"},
        {{"generate", "gpt", "--top-p", "1.5"}, "--top-p"},
        {{"generate", "bert"},
         "a model trained for masked_lm cannot generate text; expected causal_lm or seq2seq"},
        {{"generate", "gpt.toml"}, "gpt.toml: names no weights"},
        {{"predict", "gpt", "CC"},
         "was trained for causal_lm, and predict gives classes or numbers; to generate "
         "text, use `switchyard "
         "generate`"},
    }));
    INFO(c.expected);
    auto words = c.words;
    words[1] = job.file(words[1]);
    const auto outcome = run(words);
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains(c.expected));
}
