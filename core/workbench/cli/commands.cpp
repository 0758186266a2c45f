#include "core/workbench/cli/commands.h"

#include <algorithm>

namespace switchyard::cli {

std::vector<Command> all_commands() {
    return {
        {"init",
         "look at a file of data and write a configuration that trains on it",
         {"switchyard init reviews.csv --from all-MiniLM-L6-v2", "switchyard init notes.txt --out notes.toml",
          "switchyard init train.en --targets train.de --from t5-small"}},
        {"plan",
         "show which component each part of a model gets, and why not another",
         {"switchyard plan configs/demo.toml",
          "switchyard plan configs/demo.toml --set attention.backend=naive --verbose",
          "switchyard plan configs/llama-decode.toml --host h100 --json plan.json",
          "switchyard plan configs/demo.toml --save plan-saved.json"}},
        {"tune",
         "time the components that auto chooses from on this machine, and save the times",
         {"switchyard tune configs/auto-gpt.toml",
          "switchyard tune configs/auto-gpt.toml --slot attention --again",
          "switchyard tune configs/demo.toml --set attention.backend=auto --json tune.json"}},
        {"model",
         "list each part of a model with shapes, parameters, operations and memory; or what files of weights "
         "hold",
         {"switchyard model configs/demo.toml", "switchyard model downloaded/model",
          "switchyard model SmolLM2-135M-Instruct.Q4_1.gguf"}},
        {"diagnose",
         "look for common mistakes in a model, its data and its backends before training",
         {"switchyard diagnose configs/demo.toml",
          "switchyard diagnose configs/demo.toml --set attention.backend=naive"}},
        {"precision",
         "show which dtype ran in every layer, how large values get, what each format would lose",
         {"switchyard precision configs/demo.toml --steps 5",
          "switchyard precision configs/demo.toml --set precision.backend=amp/bf16 --json precision.json",
          "switchyard precision --formats"}},
        {"profile",
         "show where the time and the memory of a training step go, and what would help most",
         {"switchyard profile configs/demo.toml",
          "switchyard profile configs/demo.toml --set attention.backend=flash --html profile.html",
          "switchyard profile configs/demo.toml --wait 1 --warmup 1 --active 3 --repeat 2 --trace "
          "trace.json"}},
        {"train",
         "train a model and write a run folder",
         {"switchyard train configs/demo.toml --run runs/first",
          "switchyard train configs/demo.toml --run runs/first --resume",
          "switchyard train configs/demo.toml --run runs/first --resume auto",
          "switchyard train configs/demo.toml --run runs/best --set train.eval_every=50 --set "
          "train.keep_best=eval.accuracy",
          "switchyard train configs/demo.toml --run runs/naive --set attention.backend=naive --set "
          "train.steps=20"}},
        {"launch",
         "train with several processes on this machine, which share each step's batch",
         {"switchyard launch -n 2 train configs/demo.toml --run runs/both",
          "switchyard launch -n 4 --restarts 3 train configs/newsgroups.toml --run runs/news"}},
        {"predict",
         "classify texts with a trained model",
         {"switchyard predict runs/first \"a moving, funny film\"",
          "switchyard predict runs/best@best \"a moving, funny film\"",
          "switchyard predict runs/first --from reviews.csv --text-column review --jsonl labels.jsonl"}},
        {"evaluate",
         "score a trained model on files of its own",
         {"switchyard evaluate runs/first test.tsv",
          "switchyard evaluate runs/first@best test.tsv --json scores.json",
          "switchyard evaluate downloaded/sentiment test.csv --set data.text_column=review",
          "switchyard evaluate runs/german test.en --targets test.de --bleu"}},
        {"generate",
         "generate text with a trained language model",
         {"switchyard generate runs/molecules --num-return 100 --check-smiles",
          "switchyard generate runs/newsgroups --prompt \"the space shuttle \" --max-tokens 100 --top-p 0.9 "
          "--stream",
          "switchyard generate runs/german --prompt \"Two dogs are playing.\" --beam 4",
          "switchyard generate downloaded/gpt2-xl --prompt @story.txt --draft downloaded/gpt2",
          "switchyard generate SmolLM2-135M-Instruct.Q4_1.gguf --prompt \"The capital of France is\" "
          "--temperature 0",
          "switchyard generate runs/german --from test.csv --text-column english --temperature 0 --jsonl "
          "german.jsonl"}},
        {"embed",
         "turn texts into vectors with an encoder",
         {"switchyard embed downloaded/all-MiniLM-L6-v2 \"a moving, funny film\" --normalize",
          "switchyard embed downloaded/all-MiniLM-L6-v2 --from reviews.csv --text-column review --normalize "
          "--out reviews.npy"}},
        {"quantize",
         "store a trained model's linear layers in 8 or 4 bits, and tell what that costs",
         {"switchyard quantize runs/first --method dynamic --out runs/first-int8",
          "switchyard quantize runs/wikitext@best --method weight-int4 --group 32 --skip '*.attention.out' "
          "--out "
          "runs/wikitext-int4",
          "switchyard quantize downloaded/sentiment --method dynamic --calibrate test.tsv --max-drop 0.005 "
          "--out runs/sentiment-int8"}},
        {"merge",
         "add an adapter of low rank to the model that it belongs to",
         {"switchyard merge runs/adapted merged/model",
          "switchyard merge downloaded/adapter merged/model --base downloaded/model"}},
        {"report",
         "write one HTML page about a run: loss, speed, plan, memory",
         {"switchyard report runs/first",
          "switchyard report runs/first --steps steps.json --html first.html"}},
        {"runs",
         "list the runs in a folder: state, scores, speed, and in what they differ",
         {"switchyard runs", "switchyard runs runs/sweep --sort eval.accuracy",
          "switchyard runs --sort eval.loss --html runs.html"}},
        {"data list",
         "list the data sets that can be fetched for the configurations that come along",
         {"switchyard data list"}},
        {"data fetch",
         "fetch the data of one of these configurations, checked by sha256",
         {"switchyard data fetch newsgroups", "switchyard data fetch molecules --to /data/switchyard"}},
        {"data prepare",
         "tokenize the texts of a language model once, into a store that training reads",
         {"switchyard data prepare configs/newsgroups.toml --out prepared/newsgroups"}},
        {"data train-tokenizer",
         "learn a tokenizer from the texts of a configuration",
         {"switchyard data train-tokenizer configs/german.toml --model unigram --vocab-size 8000 --out "
          "data/german"}},
        {"data stats",
         "show how long the samples are, and what each data loader would make of them",
         {"switchyard data stats configs/demo.toml",
          "switchyard data stats configs/newsgroups.toml --set batch.tokens=8192 --json stats.json"}},
        {"data show",
         "show samples as the model gets them: tokens, labels, positions",
         {"switchyard data show configs/demo.toml -n 2"}},
        {"fit",
         "find the largest batch whose training step stays within a memory",
         {"switchyard fit configs/demo.toml --memory 4GB",
          "switchyard fit configs/presets/bert-base.toml --set task.kind=masked_lm --lengths 16-128"}},
        {"bench",
         "time components against each other and show their numerical errors",
         {"switchyard bench attention --backends naive,torch", "switchyard bench overhead"}},
        {"bench inference",
         "time a model that is used: latency, first and each token, throughput, memory",
         {"switchyard bench inference runs/first --batch 1,8 --length 128",
          "switchyard bench inference configs/presets/gpt2.toml --set task.kind=causal_lm --batch 1 --tokens "
          "64 --vary "
          "precision.backend=amp/fp32,amp/bf16_pure",
          "switchyard bench inference runs/first --batch 8 --length 8-128 --vary batch.layout=padded,packed",
          "switchyard bench inference runs/wikitext --html latency.html --arm \"PyTorch: python3 "
          "examples/peers/transformers_peer.py\"",
          "switchyard bench inference configs/presets/gpt2.toml --set task.kind=causal_lm --cache-table "
          "--blocks 1"}},
        {"bench ranks",
         "time sums over the processes that share a training, and say what network they make",
         {"switchyard launch -n 2 bench ranks",
          "torchrun --no-python --nnodes 2 --nproc-per-node 1 --rdzv-endpoint node1:29400 -- switchyard "
          "bench "
          "ranks --set distributed.interface=eth0"}},
        {"compare",
         "compare training runs: speed, memory, loss, and what differs",
         {"switchyard compare configs/demo.toml --vary attention.backend=naive,torch",
          "switchyard compare configs/demo.toml --stacks naive,torch,torch+precision=torch/bf16",
          "switchyard compare configs/demo.toml --vary attention.backend=naive,torch --vary "
          "precision.backend=torch/fp32,torch/bf16 --html compare.html",
          "switchyard compare configs/demo.toml --vary precision.backend=torch/fp32,torch/bf16 --seeds 5 "
          "--steps 300 "
          "--loss-equivalence 0.02",
          "switchyard compare --ladder configs/ladders/mini-gpt.toml --scale small",
          "switchyard compare examples/peers/bert.toml --time 120"}},
        {"compare self-test",
         "show how often a comparison finds what is not there, and what is",
         {"switchyard compare self-test", "switchyard compare self-test compare.json --replays 1000"}},
        {"plugins list",
         "list the plugins that were found",
         {"switchyard plugins list", "switchyard plugins list --json plugins.json"}},
        {"plugins info",
         "show what one plugin declares, and whether it is usable",
         {"switchyard plugins info torch"}},
        {"plugins doctor",
         "show where plugins are searched for, what is wrong with them, what they serve here",
         {"switchyard plugins doctor", "switchyard plugins doctor --fresh"}},
        {"plugins new",
         "write the project of a plugin of your own, which passes verify as it stands",
         {"switchyard plugins new fast_norm --kind normalization"}},
        {"plugins install",
         "copy a plugin to where your runs find it",
         {"switchyard plugins install build/libfast_norm.so"}},
        {"plugins remove", "take away a plugin that was installed", {"switchyard plugins remove fast_norm"}},
        {"plugins verify",
         "run a plugin's components against the reference",
         {"switchyard plugins verify", "switchyard plugins verify ./libmine.so --json verify.json",
          "switchyard plugins verify chunked --option chunked.chunk_size=64",
          "switchyard plugins verify flash --component attention --filter /drawn/ --drawn 1000"}},
        {"config show",
         "show a configuration with every value in effect",
         {"switchyard config show configs/demo.toml --origin",
          "switchyard config show configs/demo.toml --set optimizer.lr=3e-4"}},
        {"config schema",
         "list every key with type, default, range and meaning",
         {"switchyard config schema"}},
        {"config check",
         "report every mistake in a configuration",
         {"switchyard config check configs/demo.toml"}},
        {"version", "show the versions of this program and of LibTorch", {"switchyard version"}},
    };
}

void attach(std::vector<Command>& commands, std::string_view path, Setup setup) {
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.path == path; });
    if (found == commands.end()) throw std::logic_error("no command " + std::string(path));
    found->setup = setup;
}

}  // namespace switchyard::cli
