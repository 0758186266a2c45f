// From what a model asks of a slot to inputs on which the candidates can be timed: typical ones of the
// request's ranges, small enough for a second or two in all.
#pragma once

#include <string>

#include <switchyard/interfaces/kinds.h>
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/bench/bench_shape.h"

namespace switchyard::bench {

struct RequestProblem {
    BenchSettings settings;
    BenchShape shape;
    DType dtype = DType::float32;
    Pass pass = Pass::forward;
    std::string sample;  // what is timed, where the request says more or nothing; empty: what it says
};

// Lengths, widths and heads are the largest of the request, drawn lengths lie evenly between its bounds;
// batch, rows and classes are cut to what takes some ten milliseconds of a CPU (of linear layers four times
// that), for what they add is more of the same; on a device to 4 times the values and 32 times the products.
// A request does not tell how wide a window or a prefix is: a quarter and an eighth of the keys; nor how
// large parameters are: some two million values, of Muon a quarter of them, on a device 16 times as many. For
// requests of which resolver::not_measured_because says nothing.
RequestProblem problem_of(Kind kind, const Request& request);

}  // namespace switchyard::bench
