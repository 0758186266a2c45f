// A published classifier of chemical reactions (rxnfp, a BERT of 12 layers) on real ones: the predictions,
// and so the accuracy, that transformers has.
// Fixture: the first 1,000 rows of uspto50k/valid.tsv, by
//     head -n 1001 valid.tsv >rows.tsv
//     python examples/peers/rxnfp_peer.py predict FOLDER rows.tsv texts.tsv tests/fixtures/reactions.json
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "../../data/shared_data.h"
#include "fetched_data.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// The model tells 50 classes, the data has ten: which of them one of the model's is, is what most of every
// other reaction says. The accuracy is of the rest.
double accuracy_of(const std::vector<int>& predicted, const std::map<int, int>& class_of,
                   const std::vector<int>& classes) {
    int right = 0, all = 0;
    for (std::size_t i = 1; i < predicted.size(); i += 2, ++all) {
        const auto found = class_of.find(predicted[i]);
        right += found != class_of.end() && found->second == classes[i] ? 1 : 0;
    }
    return static_cast<double>(right) / all;
}

std::map<int, int> voted(const std::vector<int>& predicted, const std::vector<int>& classes) {
    std::map<int, std::map<int, int>> votes;
    for (std::size_t i = 0; i < predicted.size(); i += 2) ++votes[predicted[i]][classes[i]];
    std::map<int, int> class_of;
    for (const auto& [label, counts] : votes)
        class_of[label] = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                          })->first;
    return class_of;
}

}  // namespace

TEST_CASE("a published classifier of reactions is as often right as with transformers") {
    const auto table = shared_data("uspto50k/valid.tsv");
    if (table.empty()) return skip(no_shared_data("uspto50k/valid.tsv"));
    if (!fs::exists(rxnfp() / "model.safetensors")) return skip(no_rxnfp);
    const auto peer = json_of(source_dir() / "tests/fixtures/reactions.json");
    const auto theirs = peer["predicted"].get<std::vector<int>>();
    const auto classes = peer["class"].get<std::vector<int>>();
    REQUIRE(theirs.size() == 1000);

    std::ifstream file(table);
    std::string line, texts = "text\n";
    std::getline(file, line);
    CHECK(line == "class\treactants\tproduct");
    for (std::size_t i = 0; i < theirs.size() && std::getline(file, line); ++i) {
        std::istringstream parts(line);
        std::string its_class, reactants, product;
        std::getline(parts, its_class, '\t');
        std::getline(parts, reactants, '\t');
        std::getline(parts, product, '\t');
        REQUIRE(its_class == std::to_string(classes[i]));
        texts += reactants + ">>" + product + "\n";
    }
    const auto answer = run_json({"predict", rxnfp().string(), "--from", write_temporary("texts.tsv", texts),
                                  "--text-column", "text"});
    std::vector<int> ours;
    for (const auto& one : answer["predictions"])
        ours.push_back(std::stoi(one["label"].get<std::string>().substr(1)));  // "c17"

    REQUIRE(ours.size() == theirs.size());
    int same = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) same += ours[i] == theirs[i] ? 1 : 0;
    CHECK(same >= 999);
    const auto class_of = voted(theirs, classes);
    const auto accuracy = accuracy_of(theirs, class_of, classes);
    CHECK(accuracy > 0.8);
    CHECK(std::abs(accuracy_of(ours, class_of, classes) - accuracy) <= 0.001);
}
