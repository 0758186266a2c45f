// Writes down what happens on the thread of a step: its parts, places and calls as a timer
// (core/kernel/runtime/call_timer.h), operators and nodes of autograd as an observer of LibTorch.
//
// Nodes are linked with what made them by LibTorch's sequence numbers: a node bears the number that stood
// when its operator began. Work of other threads - loaders that make batches ahead - is not part of a step.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ATen/record_function.h>

#include "core/kernel/runtime/call_timer.h"
#include "core/workbench/profile/operator_costs.h"
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

class Recorder final : public runtime::CallTimer {
public:
    // `synchronize` is called before an event's end is taken: where work is given to a device. May be empty.
    explicit Recorder(std::function<void()> synchronize = {});
    ~Recorder() override;

    // The event in progress, which memory that is asked for now belongs to; -1: none.
    std::int32_t current() const { return stack_.empty() ? -1 : stack_.back(); }
    std::size_t events() const { return recording_.events.size(); }
    // Told each part of a step when it begins; may be empty.
    void on_part(std::function<void(std::string_view)> told) { on_part_ = std::move(told); }

    // What was written down since the last call.
    Recording take();

    void begin_step(const char* name);
    void begin_part(const char* part) override;
    void begin_place(const std::string& place) override;
    void begin_call(const runtime::BindingBase& binding, const char* call) override;
    void end() noexcept override;
    void called(const runtime::BindingBase& binding, const runtime::Signature& signature,
                const runtime::KernelCall& call, std::span<const at::Tensor* const> inputs,
                const c10::SmallVector<at::Tensor, 6>& outputs) override;

private:
    friend class Observing;
    struct Operator {
        OperatorFacts facts;
        std::int32_t name = 0;
    };
    struct Component {
        std::int32_t slot = 0, name = 0;
    };
    // Events by the sequence number that stood when they began, on one thread.
    struct Links {
        std::uint64_t first = 0;
        std::vector<std::int32_t> events;
    };

    static std::unique_ptr<at::ObserverContext> begin_function(const at::RecordFunction& function);
    static void end_function(const at::RecordFunction& function, at::ObserverContext*);

    bool is_joined() const;
    std::int32_t begin(EventKind kind, std::int32_t name);
    // Its time begins now. `entered`: when the recorder was told of it.
    void started(std::int32_t event, std::int64_t entered);
    void finish() noexcept;
    std::int32_t named(std::string_view name);
    std::int32_t literal(const char* name);
    const Operator& operator_of(const at::RecordFunction& function);
    std::int32_t begin_node(const at::RecordFunction& function);
    std::int32_t begin_operator(const at::RecordFunction& function);
    void link(std::uint64_t thread, std::uint64_t number, std::int32_t event);
    std::int32_t linked(std::uint64_t thread, std::uint64_t number) const;

    std::function<void()> synchronize_;
    std::function<void(std::string_view)> on_part_;
    mutable std::mutex mutex_;  // backward on a device has a thread of its own
    Recording recording_;
    std::vector<std::int32_t> stack_;
    std::vector<const Operator*> open_operators_;  // that have begun, the innermost last
    std::int32_t last_call_ = -1;  // that ended last
    std::unordered_map<std::string, std::int32_t> names_;
    std::unordered_map<const char*, std::int32_t> literals_;  // the same of those that stay where they are
    std::unordered_map<const void*, Operator> operators_;
    std::unordered_map<const runtime::BindingBase*, Component> components_;
    std::unordered_map<std::uint64_t, Links> links_;
};

// Lets a recorder see what this thread does, for its own lifetime.
class Observing {
public:
    explicit Observing(Recorder& recorder);
    ~Observing();
    Observing(const Observing&) = delete;
    Observing& operator=(const Observing&) = delete;

private:
    runtime::TimeCalls timing_;
    at::CallbackHandle handle_;
};

// One step, or what came before it, as an event.
class StepScope {
public:
    StepScope(Recorder& recorder, const char* name) : recorder_(recorder) { recorder.begin_step(name); }
    ~StepScope() { recorder_.end(); }
    StepScope(const StepScope&) = delete;
    StepScope& operator=(const StepScope&) = delete;

private:
    Recorder& recorder_;
};

}  // namespace switchyard::profile
