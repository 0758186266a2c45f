#!/usr/bin/env python3
"""Data parallel training by PyTorch's DistributedDataParallel over Gloo: the models of eager_peer.py on several ranks of this machine.

As an arm of `switchyard compare` each batch is divided over the ranks, so that a step is the one of a single process:

    switchyard compare examples/peers/ddp.toml --lengths 128

With --model it is no arm: it trains that folder of Hugging Face's form (a run's `model`) on random tokens, --batch samples on each
rank, and prints how many tokens all ranks took in a second. It starts its ranks itself, or torchrun does:

    python3 ddp_peer.py --ranks 2 --threads 1 --model runs/gpt/model --batch 8 --length 128
    OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node 2 ddp_peer.py --model runs/gpt/model --batch 8 --length 128
"""
import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="processes; torchrun says it itself")
    parser.add_argument("--bucket-mb", type=float, default=25.0, help="size of the buckets of gradients")
    alone = parser.add_argument_group("without `switchyard compare`")
    alone.add_argument("--model", help="folder with config.json and model.safetensors of a causal language model")
    alone.add_argument("--batch", type=int, default=8, help="samples of a step on each rank")
    alone.add_argument("--length", type=int, default=128, help="tokens of each")
    alone.add_argument("--steps", type=int, default=40, help="that are timed, after a quarter as many that are not")
    alone.add_argument("--lr", type=float, default=3e-4)
    own, rest = parser.parse_known_args()
    words, sys.argv[1:] = sys.argv[1:], rest  # the rest is eager_peer.py's: --threads, --dtype
    return own, words


options, words = arguments()
rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", options.ranks))


def start_others():
    """The other ranks as this program with the variables that torchrun would set; they read what this process hands on to them."""
    if "RANK" in os.environ or ranks == 1:
        return []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    command = [sys.executable, os.path.abspath(__file__), *words]
    return [subprocess.Popen(command, env={**os.environ, "RANK": str(other), "WORLD_SIZE": str(ranks)},
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) for other in range(1, ranks)]


others = start_others()

import eager_peer  # noqa: E402  (it takes the standard output away from what is imported later)
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from arm import answers, finite, serve, time_turn  # noqa: E402

threads_told = eager_peer.options.threads or int(os.environ.get("OMP_NUM_THREADS", 0))


def join():
    if not dist.is_initialized():
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29500")
        dist.init_process_group("gloo", rank=rank, world_size=ranks)


class Arm(eager_peer.Arm):
    """Of all ranks: `steps` holds whole batches, of which each rank takes its rows."""

    def __init__(self, message):
        if eager_peer.options.compile:
            raise ValueError("--compile: this peer is not compiled")
        join()
        threads = threads_told or max(1, (message["threads"] or len(os.sched_getaffinity(0))) // ranks)
        super().__init__({**message, "seed": message["seed"] + rank, "threads": threads})
        torch.set_num_threads(threads)
        self.forward = torch.nn.parallel.DistributedDataParallel(
            self.model, bucket_cap_mb=options.bucket_mb, gradient_as_bucket_view=True, broadcast_buffers=False)

    def accumulate(self, model, batches):
        """Gradients and loss of the whole batches: DDP makes means over the ranks of what is divided by the labels of all."""
        count = max(1, sum(int((batch["labels"] != self.ignore).sum()) for batch in batches))
        mean = torch.zeros(1)
        for number, batch in enumerate(batches):
            rows = len(batch["ids"])
            if rows < ranks:
                raise ValueError(f"a batch of {rows} cannot be divided over {ranks} ranks")
            part = {name: tensor[rows * rank // ranks:rows * (rank + 1) // ranks] for name, tensor in batch.items()}
            last = number + 1 == len(batches)
            with contextlib.nullcontext() if last else self.forward.no_sync():
                logits, labels = self.logits(self.forward, part)
                loss = F.cross_entropy(logits.float(), labels, ignore_index=self.ignore, reduction="sum",
                                       label_smoothing=self.task["label_smoothing"]) / count
                (loss * ranks).backward()
            mean += loss.detach()
        dist.all_reduce(mean)
        return mean.item()


def prepare(message):
    arm = Arm(message)
    loss = arm.first_step(message["first_step_file"] if rank == 0 else "")
    return arm, {"type": "report", "description": f"PyTorch {torch.__version__} DistributedDataParallel, {ranks} ranks, Gloo",
                 "dtype": eager_peer.options.dtype, "loss": finite(loss), "first_step_written": bool(message["first_step_file"])}


def run(arm, steps):
    report = time_turn(steps, arm.step, arm.now)
    if ranks > 1:
        report["others_share"] = None  # the other ranks would be others
    return report


def handed_on(lines):
    for line in lines:
        for other in others:
            try:
                other.stdin.write(line)
                other.stdin.flush()
            except BrokenPipeError:  # its end shows in the next sum over the ranks
                pass
        yield line


def train_alone():
    """What a step of random tokens takes; the same weights, optimizer and loss as an arm."""
    import tempfile

    from safetensors.torch import save_file
    generator = torch.Generator().manual_seed(1)
    vocabulary = eager_peer.transformers.AutoConfig.from_pretrained(options.model).vocab_size
    tensors = {}
    for step in range(8):
        ids = torch.randint(vocabulary, (options.batch * ranks, options.length), generator=generator)
        labels = torch.cat([ids[:, 1:], torch.full((len(ids), 1), -100)], 1)
        tensors |= {f"{step}.0.ids": ids, f"{step}.0.attention_mask": torch.ones_like(ids), f"{step}.0.labels": labels}
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as batches:
        save_file(tensors, batches.name)
        arm = Arm({"device": "cpu", "threads": 0, "seed": 1, "weights": options.model, "batches": batches.name,
                   "task": {"ignore_index": -100, "label_smoothing": 0.0},
                   "schedule": {"kind": "constant", "steps": 0, "final_factor": 1.0, "warmup_steps": 0, "warmup_ratio": 0.0},
                   "optimizer": {"algorithm": "adamw", "lr": options.lr, "weight_decay": 0.01, "betas": [0.9, 0.999],
                                 "eps": 1e-8, "max_grad_norm": 1.0}})
    run(arm, max(1, options.steps // 4))
    report = run(arm, options.steps)
    if rank == 0:
        tokens = report["tokens"] / sum(report["step_ms"]) * 1e3
        print(f"PyTorch {torch.__version__} DistributedDataParallel, {ranks} ranks with {torch.get_num_threads()} threads each: "
              f"{tokens:.0f} tokens/s, {statistics.median(report['step_ms']):.1f} ms a step", file=answers, flush=True)


if __name__ == "__main__":
    if options.model:
        train_alone()
    else:
        sys.stdin = handed_on(sys.stdin)
        serve(prepare, run)
    for other in others:
        other.stdin.close()
        other.wait()
