// Making, asking and destroying components through their tables.
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include "core/kernel/runtime/binding.h"
#include "core/kernel/runtime/guard.h"

#include "fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::FakeComponent;

namespace {

int alive = 0;

class Silent final : public Activation {
public:
    explicit Silent(const CreateInfo& info) : Activation(info) {
        ++alive;
        if (info.variant == "broken") {
            --alive;
            throw std::runtime_error("no such variant");
        }
        executed("made");
    }
    ~Silent() override { --alive; }
    at::Tensor forward(const ActivationInputs& inputs, const ActivationParams&, Saved*) override {
        return inputs.x;
    }
};

CreateInfo info_for(const ActivationRequest& request, const std::string& variant = "") {
    CreateInfo info;
    info.request = &request;
    info.variant = variant;
    return info;
}

const ActivationRequest request;

}  // namespace

TEST_CASE("a handle owns its component and destroys it through the plugin") {
    const FakeComponent<Activation, Silent> fake(GradientMode::kernel);
    {
        runtime::Handle<Activation> handle = runtime::create<Activation>(fake.loaded(), info_for(request));
        CHECK(alive == 1);
        const runtime::Handle<Activation> moved = std::move(handle);
        CHECK(alive == 1);
        CHECK_FALSE(
            static_cast<bool>(handle));  // NOLINT: what a moved-from handle is, is part of its contract
        const at::Tensor x;
        CHECK_FALSE(moved->forward({x, {}}, {}, nullptr).defined());
    }
    CHECK(alive == 0);
}

TEST_CASE("a component that cannot be created is an error that names it, and leaves nothing behind") {
    FakeComponent<Activation, Silent> fake(GradientMode::kernel);
    CHECK_THROWS_WITH(
        runtime::create<Activation>(fake.loaded(), info_for(request, "broken")),
        Catch::Matchers::Equals("plugin 'fake', component 'made', activation.create: no such variant"));
    CHECK(alive == 0);
    fake.entry().create = [](const void*) -> void* { throw 7; };
    CHECK_THROWS_WITH(
        runtime::create<Activation>(fake.loaded(), info_for(request)),
        Catch::Matchers::Equals("plugin 'fake', component 'made', activation.create: threw the int 7"));
    fake.entry().create = [](const void*) -> void* { return nullptr; };
    CHECK_THROWS_WITH(
        runtime::create<Activation>(fake.loaded(), info_for(request)),
        Catch::Matchers::Equals("plugin 'fake', component 'made', activation.create: returned no component"));
    CHECK_THROWS_WITH(
        runtime::create<Loss>(fake.loaded(), info_for(request)),
        Catch::Matchers::Equals("plugin 'fake', component 'made' is of kind activation, expected loss"));
}

TEST_CASE("a destroy that throws does not end the process") {
    FakeComponent<Activation, Silent> fake(GradientMode::kernel);
    fake.entry().destroy = [](void* component) {
        delete static_cast<Activation*>(component);
        throw 5;
    };
    { const auto handle = runtime::create<Activation>(fake.loaded(), info_for(request)); }
    CHECK(alive == 0);
}

TEST_CASE("supports passes the request on, and what it throws becomes a reason") {
    FakeComponent<Activation, Silent> fake(GradientMode::kernel);
    HostInfo here;
    here.name = "here";
    Options options;
    options.set("tile", std::int64_t{64});
    fake.entry().supports = [](const SwitchyardSupports* arguments) {
        const auto& asked = *static_cast<const ActivationRequest*>(arguments->request);
        const auto& given = *static_cast<const Options*>(arguments->options);
        auto& verdict = *static_cast<Verdict*>(arguments->verdict);
        if (static_cast<const HostInfo*>(arguments->host)->name != "here") throw 1;
        if (std::string(arguments->variant) != "fast") throw 2;
        verdict.reject(Code::Width, "width", "less than " + std::to_string(given.integer("tile")),
                       asked.width);
    };
    ActivationRequest wide;
    wide.width = 100;
    const Verdict verdict = runtime::supports(fake.loaded(), wide, here, options, "fast");
    REQUIRE(verdict.reasons.size() == 1);
    CHECK(verdict.reasons[0].expected == "less than 64");
    CHECK(verdict.reasons[0].got == "100");

    const Verdict thrown = runtime::supports(fake.loaded(), wide, here, options, "slow");
    REQUIRE(thrown.reasons.size() == 1);
    CHECK(thrown.reasons[0].code == Code::Internal);
    CHECK(thrown.reasons[0].got == "plugin 'fake', component 'made', activation.supports: threw the int 2");
}

TEST_CASE("what a component of any kind throws names the kind and the call") {
    for (const Kind kind : all_kinds) {
        FakeComponent<Activation, Silent> fake(GradientMode::kernel);
        fake.manifest().kind = kind;
        fake.entry().kind = name(kind).data();
        fake.entry().supports = [](const SwitchyardSupports*) { throw 3; };
        const Verdict verdict = runtime::supports(fake.loaded(), request, {}, {}, "");
        REQUIRE(verdict.reasons.size() == 1);
        CHECK(verdict.reasons[0].got ==
              "plugin 'fake', component 'made', " + std::string(name(kind)) + ".supports: threw the int 3");
    }
}

TEST_CASE("a binding counts what its component executes") {
    const FakeComponent<Activation, Silent> fake(GradientMode::kernel);
    runtime::BindingInfo info;
    info.slot = "activation";
    info.request = std::make_shared<ActivationRequest>();
    const runtime::Binding<Activation> binding(fake.loaded(), info);
    CHECK(binding.executed().calls() == std::map<std::string, std::uint64_t>{{"made", 1}});
    CHECK(binding.describe() == "activation (plugin 'fake', component 'made')");
    info.request = nullptr;
    CHECK_THROWS_WITH(runtime::Binding<Activation>(fake.loaded(), info), test::contains("without a request"));
}
