// A precision policy, asked through the guard.
#include "core/kernel/runtime/operations/precision_op.h"

#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::PrecisionOp;
using switchyard::test::FakeComponent;

namespace {

// Float64 throughout; a loss scale that falls when something overflowed.
class Doubles final : public Precision {
public:
    using Precision::Precision;

    DType storage(OpClass, const std::string&) const override { return DType::float64; }
    DType compute(OpClass op, const std::string& layer) const override {
        if (layer == "nowhere") throw 3;
        return op == OpClass::loss ? DType::float32 : DType::float64;
    }
    double loss_scale() const override { return scale_; }
    void update(bool found_inf) override { scale_ = found_inf ? scale_ / 2 : scale_; }

private:
    double scale_ = 8.0;
};

using FakePolicy = FakeComponent<Precision, Doubles>;

PrecisionOp bound(const FakePolicy& fake) {
    auto request = std::make_shared<PrecisionRequest>();
    request->dtype = DType::float64;
    runtime::BindingInfo info;
    info.slot = "precision";
    info.request = request;
    return PrecisionOp(fake.loaded(), info);
}

}  // namespace

TEST_CASE("the policy answers through the guard") {
    const FakePolicy fake(GradientMode::kernel, "acme", "doubles");
    const PrecisionOp policy = bound(fake);
    CHECK(policy.storage(OpClass::linear, "encoder.0") == DType::float64);
    CHECK(policy.compute(OpClass::loss, "model") == DType::float32);
    CHECK_THROWS_WITH(
        policy.compute(OpClass::loss, "nowhere"),
        Catch::Matchers::Equals("plugin 'acme', component 'doubles', precision.compute: threw the int 3"));
    CHECK(policy.loss_scale() == 8.0);
    policy.begin_step();
    policy.update(true);
    policy.end_step();
    CHECK(policy.loss_scale() == 4.0);
    CHECK(policy.state().entries.empty());
}
