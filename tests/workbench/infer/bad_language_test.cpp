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

TEST_CASE("a cache that does not fit is told with its size before the first token of the largest batch") {
    const LanguageJob job;
    // Positions without a table, so that texts of millions of tokens cost nothing until they come.
    const Words long_texts{"train.steps=1", "batch.max_length=32", "model.max_positions=268000000"};
    job.trained("gpt", "gpt", with(long_texts, {"model.positions=alibi"}));
    job.trained("t5", "t5", long_texts);
    job.files().write("prompts.txt", "C\nCC\nCCC\n");
    job.files().write("words.txt", "dog\ncat\n");
    struct Case {
        Words words, sets;
        std::string expected;
    };
    // A token has 32 numbers of 4 bytes, as key and as value, in each of two layers of the GPT, and in one of
    // the T5, whose encoder's states are kept as long.
    const std::string longest = "batch.max_length=100000000";
    const std::vector<Case> cases{
        // As many rows as there are samples, though the model reads the prompt once.
        {{"gpt", "--prompt", "CC", "--num-return", "30000"},
         {longest, "batch.size=20000"},
         "takes 1024000000 MB for 20000 rows of 100000000 tokens"},
        {{"gpt", "--prompt", "CC", "--num-return", "30000", "--max-tokens", "99999996"},
         {longest, "batch.size=20000"},
         "takes 1023999990 MB for 20000 rows of 99999999 tokens"},
        {{"gpt", "--beam", "900", "--num-return", "2"},
         {longest, "batch.size=1000"},
         "takes 46080000 MB for 900 rows of 100000000 tokens"},
        // Beams share the pages of what they have in common.
        {{"gpt", "--prompts", job.file("prompts.txt"), "--beam", "900", "--max-tokens", "100000000"},
         {"batch.max_length=268000000", "batch.size=1000", "cache.kind=paged", "cache.page_size=64"},
         "takes 46166045 MB for 900 rows of 268000000 tokens"},
        {{"gpt", "--prompts", job.file("prompts.txt"), "--num-return", "5"},
         {longest, "batch.size=20000"},
         "takes 1024000000 MB for 20000 rows of 100000000 tokens"},
        {{"t5", "--prompts", job.file("words.txt")},
         {longest, "batch.size=20000"},
         "takes 1024000000 MB for 20000 rows of 100000000 tokens"},
        {{"t5", "--prompt", "dog", "--num-return", "20000"},
         {longest, "batch.size=20000"},
         "takes 512000020 MB for 20000 rows of 100000000 tokens"},
    };
    for (const auto& one : cases) {
        INFO(one.expected);
        auto words = with({"generate"}, one.words);
        words[1] = job.file(words[1]);
        words = with_sets(with(words, {"--jsonl", job.file("texts.jsonl")}), one.sets);
        check_refused(run(words), {one.expected});
        CHECK_FALSE(fs::exists(job.file("texts.jsonl")));
    }
    // What is asked for decides, not what the model could hold.
    const auto few = run(with_sets({"generate", job.file("gpt"), "--prompt", "CC", "--max-tokens", "3"},
                                   {longest, "batch.size=20000"}));
    INFO(few.err);
    CHECK(few.code == 0);
}

TEST_CASE("an empty prompt is written after where a token begins texts, with a word about it") {
    const LanguageJob job;
    job.trained("gpt", "gpt", {"train.steps=1"});
    job.trained("t5", "t5", {"train.steps=1"});
    job.files().write("empty.txt", "");
    job.files().write("some.jsonl", "{\"text\": \"\"}\n{\"text\": \"C\"}\n{\"text\": \"\"}\n");
    const std::string begins =
                          "the text begins with the token that begins texts, and nothing else is known of it",
                      reads = "the encoder reads nothing but the token that ends a text";
    const auto told = [&](const std::string& run_name, const Words& more) {
        const auto outcome = run(with({"generate", job.file(run_name), "--max-tokens", "3"}, more));
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        return outcome.err;
    };
    CHECK_THAT(told("gpt", {"--prompt", ""}), contains("warning: the prompt is empty: " + begins));
    CHECK_THAT(told("gpt", {"--prompt", "@" + job.file("empty.txt")}),
               contains("warning: the prompt is empty: " + begins));
    CHECK_THAT(told("gpt", {}), !contains("empty"));  // it is asked for texts of its own
    CHECK_THAT(told("gpt", {"--prompt", "C"}), !contains("empty"));
    CHECK_THAT(told("gpt", {"--from", job.file("some.jsonl"), "--text-column", "text"}),
               contains("warning: 2 prompts are empty: " + begins));
    CHECK_THAT(told("t5", {"--prompt", ""}), contains("warning: the prompt is empty: " + reads));
    CHECK_THAT(told("t5", {}), contains("warning: the prompt is empty: " + reads));
    CHECK_THAT(told("t5", {"--prompt", "dog"}), !contains("empty"));
}
