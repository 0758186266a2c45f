"""Whole jobs on the device: small trainings of every stack, held against the same in float32 on the CPU, and what follows them.

    python3 tests/gpu/jobs.py SWITCHYARD FOLDER [NAME...]

NAME: only jobs whose name begins so. Exit code 1: a job failed, or its loss is not that of the CPU. FOLDER keeps what each printed.
"""
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SWITCHYARD = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(sys.argv[2]).resolve()
ONLY = sys.argv[3:]
DEADLINE = 100  # seconds of a job

OURS = {"attention.backend": "flash", "normalization.backend": "fused", "activation.backend": "fused", "loss.backend": "fused",
        "optimizer.backend": "fused"}
DROPOUT = {"model.dropout": "0.1", "model.attention_dropout": "0.1"}
# Layers as small as these are worth no float8 unless that is said.
FP8 = {"precision.backend": "fp8", "linear.backend": '["scaled", "torch"]', "precision.options.fp8.min_intensity": "1",
       "precision.options.fp8.keep_first": "0", "precision.options.fp8.keep_last": "0"}
CPU = {"run.device": "cpu", "precision.backend": "amp/fp32", "runtime.threads": "2"}
RAGGED = {"data.blocks": "none", "batch.min_length": "1"}

# Of each job: what it sets, which job's loss it is held against, and within which share of it.
TRAININGS = {
    "cpu": (CPU, None, 0),
    "cpu-dropout": (CPU | DROPOUT, None, 0),
    "torch-fp32": ({"precision.backend": "amp/fp32"}, "cpu", 0.002),
    "torch-tf32": ({"precision.backend": "amp/tf32"}, "cpu", 0.02),
    "torch-bf16": ({}, "cpu", 0.02),
    "naive-bf16": ({kind: "naive" for kind in OURS}, "cpu", 0.02),
    "chunked-bf16": ({"attention.backend": "chunked"}, "cpu", 0.05),
    "cudnn-bf16": ({"attention.backend": "aten/cudnn"}, "cpu", 0.02),
    "ours-bf16": (OURS, "cpu", 0.02),
    "ours-fp16": (OURS | {"precision.backend": "amp/fp16"}, "cpu", 0.02),
    "ours-dropout": (OURS | DROPOUT, "cpu-dropout", 0.02),
    "ours-recompute": (OURS | DROPOUT | {"train.recompute": "layers"}, "ours-dropout", 0.0001),
    "fused-fp32": (OURS | {"attention.backend": "torch", "precision.backend": "amp/fp32"}, "cpu", 0.002),
    "ours-pure": (OURS | {"precision.backend": "amp/bf16_pure"}, "cpu", 0.05),
    "ours-8bit": (OURS | {"optimizer.backend": "optim8bit"}, "cpu", 0.05),
    "ours-lamb": (OURS | {"optimizer.algorithm": "lamb"}, None, 0),
    "ours-muon": (OURS | {"optimizer.algorithm": "muon"}, None, 0),
    "ours-fp8": (OURS | FP8, "cpu", 0.05),
    "ours-fp8-blockwise": (OURS | FP8 | {"precision.options.fp8.recipe": "blockwise"}, "cpu", 0.05),
    "torch-graph": ({"train.cuda_graph": "true"}, "torch-bf16", 0.02),
    "ours-graph": (OURS | {"train.cuda_graph": "true"}, "ours-bf16", 0.02),
    "fp8-graph": (OURS | FP8 | {"train.cuda_graph": "true", "precision.options.fp8.recipe": "current"}, "cpu", 0.05),
    "again": (OURS, "ours-bf16", 0.0),
    "auto": ({"attention.backend": "auto", "normalization.backend": "auto", "optimizer.backend": "auto"}, "cpu", 0.02),
    "cpu-ragged": (CPU | RAGGED, None, 0),
    "ours-ragged": (OURS | RAGGED, "cpu-ragged", 0.02),
    "ours-packed": (OURS | RAGGED | {"batch.layout": "packed"}, "cpu-ragged", 0.02),
    "aten-packed": (RAGGED | {"batch.layout": "packed", "attention.backend": "aten"}, "cpu-ragged", 0.02),
    "torch-ragged": (RAGGED, "cpu-ragged", 0.02),
}


def sets(values):
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def write_text():
    rows = [f"row {i}: the sum of {i % 17} and {i % 23} is {i % 17 + i % 23}, and their product is {i % 17 * (i % 23)}" for i in range(1, 4001)]
    (FOLDER / "text.tsv").write_text("text\n" + "\n".join(rows) + "\n")
    shutil.copy(HERE / "graph.toml", FOLDER)


def run(name, words):
    """What the command printed goes to FOLDER/NAME.txt; None, or what is wrong."""
    with open(FOLDER / f"{name}.txt", "w") as out:
        out.write(" ".join(map(str, words)) + "\n")
        out.flush()
        try:
            code = subprocess.run([str(word) for word in words], stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  timeout=DEADLINE, cwd=FOLDER).returncode
        except subprocess.TimeoutExpired:
            return f"took longer than {DEADLINE} s"
    return None if code == 0 else f"exit code {code}: " + last_line(name)


def last_line(name):
    lines = [line for line in (FOLDER / f"{name}.txt").read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def train(name):
    values = TRAININGS[name][0]
    return run(name, [SWITCHYARD, "train", FOLDER / "graph.toml", "--run", FOLDER / name, *sets(values)])


def summary(name):
    return json.loads((FOLDER / name / "summary.json").read_text())


def compare_losses(name):
    _, other, share = TRAININGS[name]
    mine = summary(name)
    text = f"loss {mine['train_loss']:.6f}, {mine['step_ms']['median']:.2f} ms a step"
    if "cuda_graph" in mine:
        text += f", {mine['cuda_graph']['captures']} captures, {mine['cuda_graph']['replays']} replays"
    if other is None:
        return None, text
    theirs = summary(other)["train_loss"]
    text += f", {other}: {theirs:.6f}"
    return (None if abs(mine["train_loss"] - theirs) <= share * theirs else f"further apart than {share:.2%}"), text


GENERATE = ["--prompt", "row 12: the sum", "--max-tokens", "80", "--temperature", "0"]
# Commands upon the runs that were trained: name, words behind the program.
AFTER = {
    "plugins-doctor": ["plugins", "doctor"],
    "evaluate": ["evaluate", FOLDER / "torch-fp32", FOLDER / "text.tsv"],
    "generate": ["generate", FOLDER / "torch-fp32", *GENERATE],
    "generate-uncached": ["generate", FOLDER / "torch-fp32", *GENERATE, "--no-cache"],
    "generate-cpu": ["generate", FOLDER / "torch-fp32", *GENERATE, *sets({"run.device": "cpu"})],
    "generate-ours": ["generate", FOLDER / "ours-bf16", *GENERATE],
    "generate-ours-graph": ["generate", FOLDER / "ours-bf16", *GENERATE, *sets({"cache.cuda_graph": "true"})],
    "generate-beam": ["generate", FOLDER / "ours-bf16", "--prompt", "row 12: the sum", "--max-tokens", "40", "--beam", "4"],
    "generate-batch": ["generate", FOLDER / "ours-bf16", "--prompts", FOLDER / "prompts.txt", "--max-tokens", "40", "--temperature", "0"],
    "bench-inference": ["bench", "inference", FOLDER / "ours-bf16", "--batch", "1,8", "--length", "16", "--tokens", "96", "--seconds", "20",
                        "--vary", "cache.cuda_graph=false,true"],
    "compare": ["compare", FOLDER / "graph.toml", "--time", "20", "--stacks",
                "torch,torch+attention=flash", "--json", FOLDER / "compare.json", "--html", FOLDER / "compare.html"],
    "compare-graph": ["compare", FOLDER / "graph.toml", "--time", "20", "--vary", "train.cuda_graph=false,true"],
    "profile": ["profile", FOLDER / "graph.toml", *sets(OURS), "--html", FOLDER / "profile.html", "--json", FOLDER / "profile.json"],
    "fit": ["fit", FOLDER / "graph.toml", *sets(OURS), "--memory", "2GB", "--most", "64"],
    "nccl": ["launch", "-n", "1", "train", FOLDER / "graph.toml", "--run", FOLDER / "nccl", *sets(OURS | {"train.steps": "50"})],
    "nccl-zero1": ["launch", "-n", "1", "train", FOLDER / "graph.toml", "--run", FOLDER / "nccl-zero1",
                   *sets(OURS | {"train.steps": "50", "distributed.shard": "optimizer"})],
    "nccl-full": ["launch", "-n", "1", "train", FOLDER / "graph.toml", "--run", FOLDER / "nccl-full",
                  *sets(OURS | {"train.steps": "50", "distributed.shard": "full"})],
    "resume": ["train", FOLDER / "graph.toml", "--run", FOLDER / "resumed", *sets(OURS | {"train.steps": "100"})],
}
SAME_TEXT = [("generate", "generate-uncached"), ("generate", "generate-cpu"), ("generate-ours", "generate-ours-graph")]


def texts(name):
    """What was generated: all but the command and what it says of speed."""
    lines = (FOLDER / f"{name}.txt").read_text(errors="replace").splitlines()[1:]
    return [line for line in lines if line.startswith("row ")]


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    write_text()
    (FOLDER / "prompts.txt").write_text("row 12: the\nrow 7\nrow 3001: the sum of 9 and\n")
    wrong = {}

    def chosen(names):
        return [name for name in names if not ONLY or any(name.startswith(begin) for begin in ONLY)]

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        trained = chosen(TRAININGS)
        for name, problem in zip(trained, pool.map(train, trained)):
            text = ""
            if problem is None:
                try:
                    problem, text = compare_losses(name)
                except (OSError, KeyError, ValueError) as error:
                    problem = f"no summary to compare: {error!r}"
            if problem:
                wrong[name] = problem
            print(f"{name:24} {'FAILED: ' + problem if problem else 'fine'}  {text}", flush=True)
        after = chosen(AFTER)
        for name, problem in zip(after, pool.map(lambda name: run(name, [SWITCHYARD, *AFTER[name]]), after)):
            if problem:
                wrong[name] = problem
            print(f"{name:24} {'FAILED: ' + problem if problem else 'fine'}  {'' if problem else last_line(name)[:120]}", flush=True)
    for one, other in SAME_TEXT:
        if one in after and other in after and (not texts(one) or texts(one) != texts(other)):
            wrong[f"{one} and {other}"] = "other texts"
            print(f"{one} and {other} wrote other texts: {texts(one)} and {texts(other)}")
    print(f"{len(trained) + len(after)} jobs, {len(wrong)} wrong" + (": " + ", ".join(wrong) if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
