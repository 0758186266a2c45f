#include "core/workbench/profile/recorder.h"

#include <chrono>
#include <utility>

#include <ATen/SequenceNumber.h>

#include "core/kernel/runtime/autograd_bridge.h"
#include "core/workbench/profile/call_costs.h"

namespace switchyard::profile {
namespace {

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Recorder* active = nullptr;                            // that observes; one at a time
constinit thread_local const Recorder* joined = nullptr;  // whose step this thread works for

constexpr std::size_t most_events = std::size_t{1} << 24;

}  // namespace

Recorder::Recorder(std::function<void()> synchronize) : synchronize_(std::move(synchronize)) {
    recording_.events.reserve(std::size_t{1} << 16);
}
Recorder::~Recorder() = default;

Observing::Observing(Recorder& recorder)
    : timing_(recorder),
      handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(&Recorder::begin_function, &Recorder::end_function)
              .needsInputs(true)
              .needsOutputs(true)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
    active = &recorder;
    joined = &recorder;
}

Observing::~Observing() {
    at::removeCallback(handle_);
    active = nullptr;
    joined = nullptr;
}

bool Recorder::is_joined() const { return joined == this; }

Recording Recorder::take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    Recording taken;
    taken.names = recording_.names;
    // A copy: what is written to stays where it is, in memory that is there.
    taken.events = recording_.events;
    recording_.events.clear();
    for (auto& [thread, links] : links_) links.events.clear();
    last_call_ = -1;
    return taken;
}

std::int32_t Recorder::named(std::string_view name) {
    const auto [found, is_new] =
        names_.try_emplace(std::string(name), static_cast<std::int32_t>(recording_.names.size()));
    if (is_new) recording_.names.emplace_back(name);
    return found->second;
}

std::int32_t Recorder::literal(const char* name) {
    const auto [found, is_new] = literals_.try_emplace(name);
    if (is_new) found->second = named(name);
    return found->second;
}

std::int32_t Recorder::begin(EventKind kind, std::int32_t name) {
    const auto index = static_cast<std::int32_t>(recording_.events.size());
    auto& event = recording_.events.emplace_back();
    event.kind = kind;
    event.name = name;
    event.parent = current();
    stack_.push_back(index);
    return index;
}

// The clock is read last at a begin and first at an end: what observing takes lies outside of the event.
void Recorder::started(std::int32_t index, std::int64_t entered) {
    auto& event = recording_.events[static_cast<std::size_t>(index)];
    event.begin = event.end = now();
    event.observing = event.begin - entered;
}

void Recorder::finish() noexcept {
    if (synchronize_) synchronize_();
    const auto at = now();
    if (stack_.empty()) return;
    auto& event = recording_.events[static_cast<std::size_t>(stack_.back())];
    event.end = at;
    if (event.kind == EventKind::call) last_call_ = stack_.back();
    stack_.pop_back();
    event.observing += now() - at;
}

void Recorder::begin_step(const char* name) {
    const auto entered = now();
    const std::lock_guard<std::mutex> lock(mutex_);
    started(begin(EventKind::step, named(name)), entered);
}

void Recorder::begin_part(const char* part) {
    if (!is_joined()) return;
    const auto entered = now();
    if (on_part_) on_part_(part);
    const std::lock_guard<std::mutex> lock(mutex_);
    started(begin(EventKind::part, literal(part)), entered);
}

void Recorder::begin_place(const std::string& place) {
    if (!is_joined()) return;
    const auto entered = now();
    const std::lock_guard<std::mutex> lock(mutex_);
    started(begin(EventKind::place, named(place)), entered);
}

void Recorder::begin_call(const runtime::BindingBase& binding, const char* call) {
    if (!is_joined()) return;
    const auto entered = now();
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = components_.find(&binding);
    if (found == components_.end()) {
        const Component component{named(binding.slot()), named(binding.plugin() + "/" + binding.component())};
        found = components_.emplace(&binding, component).first;
    }
    const auto name = literal(call);
    const auto index = begin(EventKind::call, name);
    auto& event = recording_.events[static_cast<std::size_t>(index)];
    event.slot = found->second.slot;
    event.component = found->second.name;
    event.dtype = binding.request().dtype;
    started(index, entered);
}

void Recorder::end() noexcept {
    if (!is_joined()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    finish();
}

void Recorder::called(const runtime::BindingBase& binding, const runtime::Signature&,
                      const runtime::KernelCall& call, std::span<const at::Tensor* const> inputs,
                      const c10::SmallVector<at::Tensor, 6>& outputs) {
    if (!is_joined() || last_call_ < 0) return;
    const auto entered = now();
    const auto costs = costs_of(binding, call, inputs, outputs);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& event = recording_.events[static_cast<std::size_t>(last_call_)];
    event.cost = costs.forward;
    event.backward_cost = costs.backward;
    if (binding.gradient() != GradientMode::differentiable)
        link(at::RecordFunction::currentThreadId(), at::sequence_number::peek(), last_call_);
    event.observing += now() - entered;
}

void Recorder::link(std::uint64_t thread, std::uint64_t number, std::int32_t event) {
    auto& links = links_[thread];
    if (links.events.empty()) links.first = number;
    if (number < links.first) return;
    const auto at = static_cast<std::size_t>(number - links.first);
    if (at >= most_events) return;
    if (links.events.size() <= at) links.events.resize(at + 1, -1);
    links.events[at] = event;
}

std::int32_t Recorder::linked(std::uint64_t thread, std::uint64_t number) const {
    const auto found = links_.find(thread);
    if (found == links_.end() || number < found->second.first) return -1;
    const auto at = static_cast<std::size_t>(number - found->second.first);
    return at < found->second.events.size() ? found->second.events[at] : -1;
}

const Recorder::Operator& Recorder::operator_of(const at::RecordFunction& function) {
    const auto [found, is_new] = operators_.try_emplace(function.name());
    if (is_new) found->second = {facts_of(function), named(function.name())};
    return found->second;
}

std::int32_t Recorder::begin_node(const at::RecordFunction& function) {
    const std::string_view name(function.name());
    const auto number = function.seqNr();
    const bool is_made_alone = name == "Switchyard[recompute]";  // by no operator
    const auto forward = number < 0 || is_made_alone
                             ? -1
                             : linked(function.forwardThreadId(), static_cast<std::uint64_t>(number));
    const auto index = begin(EventKind::node, named(name));
    recording_.events[static_cast<std::size_t>(index)].forward = forward;
    return index;
}

std::int32_t Recorder::begin_operator(const at::RecordFunction& function) {
    const auto& known = operator_of(function);
    DType dtype = DType::float32;
    const auto cost = cost_of_inputs(known.facts, function.inputs(), dtype);
    open_operators_.push_back(&known);
    const auto index = begin(EventKind::op, known.name);
    if (const auto number = function.seqNr(); number >= 0)
        link(function.threadId(), static_cast<std::uint64_t>(number), index);
    auto& event = recording_.events[static_cast<std::size_t>(index)];
    event.cost = cost;
    event.dtype = dtype;
    event.product = known.facts.product != OperatorFacts::Product::none;
    return index;
}

std::unique_ptr<at::ObserverContext> Recorder::begin_function(const at::RecordFunction& function) {
    auto* const recorder = active;
    if (recorder == nullptr) return nullptr;
    const auto entered = now();
    joined = recorder;  // callbacks go where the step goes
    const std::lock_guard<std::mutex> lock(recorder->mutex_);
    const bool backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
    recorder->started(backward ? recorder->begin_node(function) : recorder->begin_operator(function),
                      entered);
    return nullptr;
}

void Recorder::end_function(const at::RecordFunction& function, at::ObserverContext*) {
    auto* const recorder = active;
    if (recorder == nullptr || joined != recorder) return;
    const std::lock_guard<std::mutex> lock(recorder->mutex_);
    const auto index = recorder->current();
    if (index < 0) return;
    auto& event = recorder->recording_.events[static_cast<std::size_t>(index)];
    const auto before = event.observing;
    recorder->finish();
    auto& open = recorder->open_operators_;
    if (function.scope() == at::RecordScope::FUNCTION && !open.empty()) {
        event.cost.written += written_bytes(open.back()->facts, function.outputs());
        open.pop_back();
    }
    event.observing = before + now() - event.end;
}

}  // namespace switchyard::profile
