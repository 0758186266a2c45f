// How records of layers are folded, and which operators count as computing. To add a case: records by name,
// and the names that folding leaves.
#include <string>
#include <vector>

#include "core/workbench/train/precision/observed_values.h"

#include <switchyard_test.h>

using namespace switchyard;
using train::InsideDtypes;
using train::OperationRecord;
using train::TensorRole;

namespace {

OperationRecord record(const std::string& layer, const std::string& dtype = "fp32",
                       runtime::Pass pass = runtime::Pass::forward) {
    OperationRecord made;
    made.layer = layer;
    made.operation = pass == runtime::Pass::step ? "optimizer" : "linear";
    made.pass = pass;
    made.component = "amp/bf16";
    made.calls = 2;
    made.tensors = {{"x", TensorRole::input, true, {dtype}, {}}};
    made.tensors[0].values.count = 10;
    return made;
}

std::vector<std::string> listed(const std::vector<OperationRecord>& records) {
    std::vector<std::string> list;
    for (const auto& one : records) list.push_back(one.layer + " x" + std::to_string(one.calls));
    return list;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("layers that repeat become one line, in the order in which they came") {
    std::deque<OperationRecord> records{record("embeddings.norm")};
    for (const char* layer : {"0", "1", "2", "3", "10", "11"}) {
        records.push_back(record(std::string("encoder.") + layer + ".attention.q"));
        records.push_back(record(std::string("encoder.") + layer + ".attention.out"));
    }
    records.push_back(record("encoder.norm"));
    const auto result = train::folded(records);
    CHECK(listed(result) == Names{"embeddings.norm x2", "encoder.0-3,10-11.attention.q x12",
                                  "encoder.0-3,10-11.attention.out x12", "encoder.norm x2"});
    CHECK(result[1].values().count == 60);
}

TEST_CASE(
    "a layer that runs in another dtype, through another component or in another pass stands on its own") {
    std::deque<OperationRecord> records{record("encoder.0.attention.q", "fp32"),
                                        record("encoder.1.attention.q", "bf16"),
                                        record("encoder.2.attention.q", "bf16")};
    records.push_back(record("encoder.3.attention.q", "bf16"));
    records.back().component = "torch/fp32";
    records.push_back(record("encoder.1.attention.q", "bf16", runtime::Pass::backward));
    CHECK(listed(train::folded(records)) == Names{"encoder.0.attention.q x2", "encoder.1-2.attention.q x4",
                                                  "encoder.3.attention.q x2", "encoder.1.attention.q x2"});
}

TEST_CASE("steps of all parameters become one line") {
    const std::deque<OperationRecord> records{
        record("embeddings.word", "fp32", runtime::Pass::step),
        record("encoder.0.attention.q.weight", "fp32", runtime::Pass::step)};
    CHECK(listed(train::folded(records)) == Names{"all parameters x4"});
}

TEST_CASE("operators are told apart by what they do") {
    using Work = InsideDtypes::Work;
    CHECK(InsideDtypes::work_of("aten::addmm") == Work::product);
    CHECK(InsideDtypes::work_of("aten::linear") == Work::product);
    CHECK(InsideDtypes::work_of("aten::_scaled_mm") == Work::product);
    CHECK(InsideDtypes::work_of("aten::scaled_dot_product_attention") == Work::product);
    CHECK(InsideDtypes::work_of("aten::native_layer_norm") == Work::other);
    CHECK(InsideDtypes::work_of("aten::mul") == Work::other);
    CHECK(InsideDtypes::work_of("aten::_to_copy") == Work::none);
    CHECK(InsideDtypes::work_of("aten::view") == Work::none);
    CHECK(InsideDtypes::work_of("autograd::engine") == Work::none);
}
