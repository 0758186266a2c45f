// A moving average of the weights (train.ema; Polyak and Juditsky 1992, as an exponential average): after
// each optimizer step it is decay times itself and 1 - decay times the weights. It is kept in float32, begins
// with the weights as they are, and is what is evaluated and left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard::train {

class WeightAverage {
public:
    // Of the parameters that an optimizer is bound to, of their float32 masters where they have any.
    WeightAverage(double decay, const std::vector<ParameterGroup>& groups);

    void update();

    // By parameter's name. What `set` is not given begins with the weights as they are now.
    std::map<std::string, at::Tensor> values() const;
    void set(const std::map<std::string, at::Tensor>& values);

    // The parameters are the average while this lives, and then again what they were.
    class Shown {
    public:
        explicit Shown(const WeightAverage& average);
        ~Shown();
        Shown(const Shown&) = delete;
        Shown& operator=(const Shown&) = delete;

    private:
        const WeightAverage& average_;
        std::vector<at::Tensor> weights_;
    };

    // The parameters are the average from now on.
    void keep() const;

private:
    struct Entry {
        std::string name;
        at::Tensor weight;
        at::Tensor exact;    // the weight or its master
        at::Tensor average;  // float32
    };

    double decay_;
    std::vector<Entry> entries_;
};

}  // namespace switchyard::train
