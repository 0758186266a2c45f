// A case of an operation that maps tensors to tensors - attention, normalization, activation, loss, a linear
// layer - reduced to what is common to them all, so that one judge serves every kind.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/conformance/binding.h>
#include <switchyard/conformance/checks.h>
#include <switchyard/conformance/report.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/saved.h>

namespace switchyard::conformance {

using Tensors = std::vector<at::Tensor>;

// What the candidate gave.
struct Outcome {
    Tensors outputs;
    Tensors
        gradients;  // of the inputs that need one, undefined for others; empty in a case without gradients
};

struct Operation {
    std::vector<const char*> input_names, output_names;
    Tensors inputs;              // as the candidate gets them; undefined where the case has none
    std::vector<bool> needs;     // which inputs' gradients are asked for; all false: none
    std::vector<bool> given_up;  // inputs whose memory the candidate may write to; empty: none
    Tensors others;              // masks and the like, which the calls below know: must not be changed either
    Tensors grad_outputs;        // one an output; undefined for outputs without gradient
    bool judged =
        true;  // false: values depend on a library's generator; only shapes, claims and `inspect` count

    // Root mean square that the outputs have where their terms do not cancel by chance; 0: their own. What a
    // component of Accuracy::reduced rounds away is a share of that.
    double natural_outputs = 0.0;
    bool exact = false;  // also of a component that is Accuracy::reduced: its bound is of other cases

    int executions = 0;  // how often `forward` makes executed() be called; 0: at least once
    // For floors of outputs and of gradients, where it is more than that of their own dtype.
    double output_roundoff = 0.0, gradient_roundoff = 0.0;

    std::function<Tensors(const Tensors& inputs)> reference;  // in any dtype, followed by autograd
    // In its place where the formula is one of the component's own: makes it of the component.
    std::function<std::function<Tensors(const Tensors& inputs)>(const ComponentUnderTest&)> reference_of;
    std::function<Tensors(void* component, const Tensors& inputs, Saved* saved)> forward;
    std::function<Tensors(void* component, const Saved& saved, const Tensors& grad_outputs,
                          const std::vector<bool>& needs)>
        backward;
    std::function<void(const Outcome&, std::vector<Fault>&)>
        inspect;  // further checks, may be empty; faults need no `where`

    bool needs_any() const {
        for (const bool need : needs) {
            if (need) return true;
        }
        return false;
    }
};

// How a case's data is to be laid out when it is made.
struct Variation {
    bool poison = true;   // NaN around the inputs, and odd values where a mask hides them
    bool strided = true;  // the placements that the case names; else everything dense
    int draw = 0;         // other values, other dropout, for each number
};

// A case before its data is made. `request` is of the kind's own type.
struct OperationCase {
    std::string name;
    std::shared_ptr<const Request> request;
    std::function<Operation(const Variation&)> make;
    int threads = 1;  // for the component's calls
    // The same on the CPU, where the oracle runs; empty: `make` does that already.
    std::function<Operation(const Variation&)> make_on_cpu = {};
    std::optional<DType> computes = {};  // where that is not the request's dtype
    // Further data for the same component, whose request covers them all: it is called on this case's and on
    // theirs in turn, `rounds` times around, and each call is judged.
    std::vector<OperationCase> in_turn = {};
    int rounds = 1;
};

// What a component has to serve that is called with both.
inline Range joined(const Range& a, const Range& b) {
    return {a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

// One component on all cases in turn, ten times around. `widen(all, one)` makes a request serve another, too.
template <class KindsRequest, class Widen>
OperationCase in_turn(std::vector<OperationCase> cases, Widen widen) {
    OperationCase first = cases.front();
    const auto of = [](const OperationCase& one) -> const KindsRequest& {
        return KindTraits<kind_of<KindsRequest>>::request(*one.request);
    };
    auto all = std::make_shared<KindsRequest>(of(first));
    for (const OperationCase& one : cases) widen(*all, of(one));
    first.request = std::move(all);
    first.in_turn.assign(cases.begin() + 1, cases.end());
    first.rounds = 10;
    return first;
}

// Few rows before many, and many before few: of two specs of one kind, of which `make` makes a case each.
template <class KindsRequest, class Spec, class Make>
void add_rows_in_turn(std::vector<OperationCase>& cases, Spec few, Spec many, const Make& make) {
    for (const char* family : {"in_turn/few_first", "in_turn/many_first"}) {
        few.family = many.family = family;
        cases.push_back(in_turn<KindsRequest>(
            {make(few), make(many)},
            [](KindsRequest& all, const KindsRequest& one) { all.rows = joined(all.rows, one.rows); }));
        std::swap(few, many);
    }
}

// Runs the case on the component and appends what is wrong to the report; nothing where gradients alone are
// looked for, and it asks for none.
void run_case(const ComponentUnderTest& component, const Facts& facts, const OperationCase& one,
              const Checks& checks, Report& report);

}  // namespace switchyard::conformance
