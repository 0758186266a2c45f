// Tokenizers that lose nothing: bytes, and molecules against the regular expression of the paper. To add a
// molecule: put it into `molecules`.
#include "core/workbench/data/rows.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"
#include "core/workbench/data/tokenizers/smiles_text.h"
#include "core/workbench/data/tokenizers/smiles_tokenizer.h"

#include <fstream>
#include <regex>

#include "../shared_data.h"

using namespace switchyard;
using data::SmilesTokenizer;

namespace {

const std::vector<std::string> molecules{"CC(=O)Oc1ccccc1C(=O)O",
                                         "C[C@@H](N)C(=O)O.Cl",
                                         "F/C=C\\F",
                                         "C%12CCCCC%12",
                                         "[13CH4]",
                                         "[Na+].[Cl-]",
                                         "BrCCBr>>C=C",
                                         "c1ccc2[nH]ccc2c1",
                                         "N#Cc1c(I)cc(B(O)O)cc1*",
                                         "CS(=O)(=O)P$C:C~C?C@C-C+"};

std::vector<std::string> lines_of(const std::string& path, const std::string& column) {
    std::vector<std::string> lines;
    data::RowRequest request;
    request.path = path;
    request.format = *data::format_of(path);
    request.columns = {column};
    request.on_row = [&](data::Row& row) {
        lines.push_back(row.values[0]);
        return true;
    };
    REQUIRE(data::read_rows(request).error.empty());
    return lines;
}

// Schwaller et al. 2019, "Molecular Transformer", the supporting information's regular expression.
std::vector<std::string> tokens_by_expression(const std::string& text) {
    static const std::regex expression(
        R"((\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>|\*|\$|%[0-9]{2}|[0-9]))");
    return {std::sregex_token_iterator(text.begin(), text.end(), expression), {}};
}

std::vector<std::string> tokens_of(std::string_view text) {
    std::vector<std::string> tokens;
    while (!text.empty()) {
        tokens.emplace_back(data::first_smiles_token(text));
        REQUIRE_FALSE(tokens.back().empty());
        text.remove_prefix(tokens.back().size());
    }
    return tokens;
}

std::shared_ptr<const SmilesTokenizer> made_of(const std::vector<std::string>& texts) {
    std::set<std::string> tokens;
    std::size_t at = 0;
    for (const auto& text : texts) REQUIRE(data::collect_smiles_tokens(text, tokens, at).empty());
    return SmilesTokenizer::from_tokens(tokens);
}

}  // namespace

TEST_CASE("bytes come back, whatever they are") {
    std::string text;
    for (int i = 0; i < 1024; ++i) text += static_cast<char>((i * 37 + i / 256) & 255);
    const data::ByteTokenizer tokenizer;
    const auto ids = tokenizer.encode(text);
    CHECK(ids.size() == text.size());
    CHECK(tokenizer.decode(ids) == text);
    CHECK(tokenizer.encode("A") == std::vector<std::int64_t>{5 + 65});
    CHECK(tokenizer.size() == 261);
    CHECK(tokenizer.encode_with_specials("AB", 0) == std::vector<std::int64_t>{1, 70, 71, 2});
    CHECK(tokenizer.decode({1, 70, 0, 4, 71, 2, 300, -1}) == "AB");
}

TEST_CASE("molecules are split as the paper's regular expression splits them, and come back") {
    const auto tokenizer = made_of(molecules);
    for (const auto& molecule : molecules) {
        INFO(molecule);
        CHECK(tokens_of(molecule) == tokens_by_expression(molecule));
        CHECK(tokenizer->problem_in(molecule).empty());
        CHECK(tokenizer->decode(tokenizer->encode(molecule)) == molecule);
    }
}

TEST_CASE("all molecules of the shared data come back") {
    for (const std::string name :
         {"smiles/moses_train_100k.smi", "smiles/moses_test_10k.smi", "smiles/hiv_train.tsv"}) {
        const auto path = test::shared_data(name);
        if (path.empty()) return test::skip(test::no_shared_data(name));
        const auto lines = lines_of(path, name.ends_with(".tsv") ? "smiles" : "text");
        const auto tokenizer = made_of(lines);
        std::size_t lost = 0, other = 0, row = 0;
        for (const auto& line : lines) {
            lost += tokenizer->decode(tokenizer->encode(line)) == line ? 0 : 1;
            if (row++ % 50 == 0) other += tokens_of(line) == tokens_by_expression(line) ? 0 : 1;
        }
        INFO(name);
        CHECK(lost == 0);
        CHECK(other == 0);
        CHECK(lines.size() > 9000);
    }
}

TEST_CASE("a vocabulary of molecules does not depend on their order, and is read as it was written") {
    auto turned = molecules;
    std::reverse(turned.begin(), turned.end());
    const auto tokenizer = made_of(molecules);
    CHECK(tokenizer->vocabulary_text() == made_of(turned)->vocabulary_text());
    CHECK(tokenizer->vocabulary_text().starts_with("<pad>\n<bos>\n<eos>\n<unk>\n<mask>\n#\n$\n"));
    const auto read = SmilesTokenizer::from_text(tokenizer->vocabulary_text(), "v").tokenizer;
    REQUIRE(read);
    CHECK(read->vocabulary_text() == tokenizer->vocabulary_text());
    CHECK(read->encode(molecules[1]) == tokenizer->encode(molecules[1]));
}

TEST_CASE("what is no molecule, and tokens that are not in the vocabulary, are told with their place") {
    const auto tokenizer = made_of({"CCO"});
    CHECK(tokenizer->problem_in("CC O") == "is no SMILES: ' ' at column 3 begins no token");
    CHECK(tokenizer->problem_in("C\xffO") == "is no SMILES: byte 0xFF at column 2 begins no token");
    CHECK(tokenizer->problem_in("C[nH") == "is no SMILES: '[' at column 2 begins no token");
    CHECK(tokenizer->problem_in("CC[Si]") ==
          "has the token '[Si]' at column 3, which is not in the vocabulary");
    CHECK(tokenizer->encode("C[Si]!O") == std::vector<std::int64_t>{5, 3, 3, 6});
}

TEST_CASE("a damaged vocabulary of molecules says where and why") {
    const std::string head = "<pad>\n<bos>\n<eos>\n<unk>\n<mask>\n";
    const auto error = [](const std::string& text) { return SmilesTokenizer::from_text(text, "v").error; };
    CHECK(error("<pad>\n<eos>\n") == "v:2: expected <bos>, got '<eos>'");
    CHECK(error(head + "C\nCC\n") == "v:7: 'CC' is not a token of a SMILES");
    CHECK(error(head + "C\n\n") == "v:7: '' is not a token of a SMILES");
    CHECK(error(head + "C\nN\nC\n") == "v:8: 'C' stands on line 6 too");
    CHECK(error(head) ==
          "v: holds no token; expected <pad>, <bos>, <eos>, <unk>, <mask> and tokens of SMILES, one a line");
    CHECK(SmilesTokenizer::open("/nowhere/v").error ==
          "/nowhere/v: cannot be opened: No such file or directory; expected a vocabulary, one token a line");
}

TEST_CASE("brackets, parentheses and rings must be closed") {
    for (const auto& good : molecules) CHECK(data::bracket_fault(good).empty());
    CHECK(data::bracket_fault("C1CC%01").empty());
    CHECK(data::bracket_fault("C1CC1C1CC1").empty());
    CHECK(data::bracket_fault("C(C").starts_with("'(' without ')'"));
    CHECK(data::bracket_fault("CC)C(") == "')' without '('");
    CHECK(data::bracket_fault("C[nH") == "'[' begins no token");
    CHECK(data::bracket_fault("CnH]") == "'H' begins no token");
    CHECK(data::bracket_fault("c1ccccc2") == "ring 1 is not closed");
    CHECK(data::bracket_fault("C%12CC") == "ring 12 is not closed");
}

TEST_CASE("the tokenizer that a configuration names is opened") {
    const auto folder = test::temporary_dir("tokenizer").string();
    std::ofstream(folder + "/a.smi") << "CCO\nC[nH]\n";
    config::DataConfig job;
    job.train = {folder + "/a.smi"};
    job.tokenizer = config::TokenizerKind::smiles;
    const auto made = data::open_tokenizer(job);
    REQUIRE(made.tokenizer);
    REQUIRE(made.tokenizer->files().size() == 1);
    CHECK(made.tokenizer->files()[0].name == "vocab.txt");
    CHECK(made.tokenizer->files()[0].bytes == "<pad>\n<bos>\n<eos>\n<unk>\n<mask>\nC\nO\n[nH]\n");
    std::ofstream(folder + "/b.smi") << "CCO\nC C\n";
    job.train = {folder + "/b.smi"};
    CHECK(data::open_tokenizer(job).problems ==
          std::vector<std::string>{folder + "/b.smi:2:2: is no SMILES: ' ' at column 2 begins no token"});
    job.tokenizer = config::TokenizerKind::bytes;
    CHECK(data::open_tokenizer(job).tokenizer->size() == 261);
    CHECK(data::open_tokenizer(job).tokenizer->files().empty());
}
