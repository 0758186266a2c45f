#!/usr/bin/env python3
"""An arm of `switchyard compare`: the same training step by PyTorch and transformers, eager or compiled.

It loads the weights and batches that a Switchyard arm exported, so that both compute the same thing; docs/compare.md describes the
messages over the standard streams.

    python3 eager_peer.py [--compile [--mode MODE]] [--dtype bfloat16] [--threads N]
"""
import argparse
import math
import time

from arm import finite, serve, time_turn


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    parser.add_argument("--mode", choices=("default", "reduce-overhead", "max-autotune"), default="default", help="of torch.compile")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="dtype of matrix products (autocast)")
    parser.add_argument("--threads", type=int, default=0, help="default: as the configuration says, else all cores")
    return parser.parse_args()


options = arguments()

import torch  # noqa: E402  (after arm, which takes the standard output away from it)
import torch.nn.functional as F  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402


class Schedule:
    """The factor of the learning rate at each step, counted from 0."""

    def __init__(self, schedule):
        self.kind, self.steps, self.last = schedule["kind"], schedule["steps"], schedule["final_factor"]
        self.warmup = schedule["warmup_steps"] or round(schedule["warmup_ratio"] * self.steps)

    def factor(self, step):
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.kind == "constant" or self.steps <= self.warmup:
            return 1.0
        share = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        if self.kind == "cosine":
            share = (1.0 - math.cos(math.pi * share)) / 2.0
        return 1.0 + (self.last - 1.0) * share


class Arm:
    def __init__(self, message):
        self.device = torch.device(message["device"])
        threads = options.threads or message["threads"]
        if threads:
            torch.set_num_threads(threads)
        torch.manual_seed(message["seed"])
        self.task, self.ignore = message["task"], message["task"]["ignore_index"]
        self.model = self.load(message["weights"])
        self.forward = torch.compile(self.model, mode=options.mode) if options.compile else self.model
        self.optimizer = self.make_optimizer(message["optimizer"])
        self.rate, self.clip = message["optimizer"]["lr"], message["optimizer"]["max_grad_norm"]
        self.schedule = Schedule(message["schedule"])
        self.steps = self.load_batches(message["batches"])
        self.done = 0
        held_out = message.get("evaluation_batches")
        self.held_out = self.load_batches(held_out)[0] if held_out else []

    def load(self, folder):
        config = transformers.AutoConfig.from_pretrained(folder)
        kind = getattr(transformers, config.architectures[0])
        model = kind.from_pretrained(folder, attn_implementation="sdpa")
        for module in model.modules():  # a token that is there gets its gradient, the one used for padding too
            if isinstance(module, torch.nn.Embedding):
                module.padding_idx = None
        return model.to(self.device).train()

    def make_optimizer(self, settings):
        if settings["algorithm"] not in ("adamw", "adam"):
            raise ValueError("this peer has no optimizer " + settings["algorithm"] + "; it has adamw and adam")
        decayed = [p for p in self.model.parameters() if p.ndim > 1]
        others = [p for p in self.model.parameters() if p.ndim <= 1]
        decay = settings["weight_decay"] if settings["algorithm"] == "adamw" else 0.0
        groups = [{"params": decayed, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=settings["lr"], betas=tuple(settings["betas"]), eps=settings["eps"], fused=True)

    def load_batches(self, path):
        """[step][micro-batch] -> tensors by name."""
        steps = []
        for name, tensor in load_file(path).items():
            step, micro, what = name.split(".")
            while len(steps) <= int(step):
                steps.append({})
            steps[int(step)].setdefault(int(micro), {})[what] = tensor.to(self.device)
        return [[step[micro] for micro in sorted(step)] for step in steps]

    def logits(self, model, batch):
        """[rows, classes] with a label for each row."""
        inputs = {"input_ids": batch["ids"], "attention_mask": batch["attention_mask"]}
        if "token_type_ids" in batch:
            inputs["token_type_ids"] = batch["token_type_ids"]
        if "target_ids" in batch:
            inputs["decoder_input_ids"] = batch["target_ids"]
        with torch.autocast(self.device.type, torch.bfloat16, enabled=options.dtype == "bfloat16"):
            logits = model(**inputs).logits
        return logits.flatten(0, -2), batch["labels"].flatten()

    def accumulate(self, model, batches):
        """Forward and backward; the mean loss over the labels of all batches."""
        count = sum(int((batch["labels"] != self.ignore).sum()) for batch in batches)
        mean = 0.0
        for batch in batches:
            logits, labels = self.logits(model, batch)
            loss = F.cross_entropy(logits.float(), labels, ignore_index=self.ignore, reduction="sum",
                                   label_smoothing=self.task["label_smoothing"]) / max(1, count)
            loss.backward()
            mean += loss.item()
        return mean

    def first_step(self, path):
        """Dropout off, nothing changed."""
        self.model.eval()
        batches = self.steps[0]
        with torch.no_grad():
            logits, labels = self.logits(self.model, batches[0])
            rows = logits[labels != self.ignore]
        loss = self.accumulate(self.model, batches)
        if path:
            tensors = {"logits": rows.float().contiguous().cpu()}
            for name, parameter in self.model.named_parameters():
                if parameter.grad is not None:
                    tensors["gradient." + name] = parameter.grad.float().contiguous().cpu()
            save_file(tensors, path)
        self.optimizer.zero_grad(set_to_none=True)
        self.model.train()
        return loss

    def step(self):
        batches = self.steps[self.done % len(self.steps)]
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * self.schedule.factor(self.done)
        loss = self.accumulate(self.forward, batches)
        if self.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.done += 1
        tokens = sum(int(batch[name].sum()) for batch in batches for name in batch if name.endswith("attention_mask"))
        return loss, sum(len(batch["ids"]) for batch in batches), tokens

    def evaluates(self):
        return bool(self.held_out) and all("labels" in batch for batch in self.held_out)

    def evaluate(self):
        """The held-out samples, dropout off and nothing changed."""
        self.model.eval()
        samples = count = correct = 0
        loss = 0.0
        with torch.no_grad():
            for batch in self.held_out:
                logits, labels = self.logits(self.model, batch)
                labelled = labels != self.ignore
                samples += len(batch["ids"])
                count += int(labelled.sum())
                correct += int(((logits.argmax(-1) == labels) & labelled).sum())
                loss += F.cross_entropy(logits.float(), labels, ignore_index=self.ignore, reduction="sum").item()
        self.model.train()
        return {"type": "report", "samples": samples, "labels": count, "correct": correct, "loss": finite(loss / max(1, count))}

    def now(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def prepare(message):
    arm = Arm(message)
    loss = arm.first_step(message["first_step_file"])
    how = "torch.compile" if options.compile else "eager"
    return arm, {"type": "report", "description": f"PyTorch {torch.__version__} {how}, transformers {transformers.__version__}",
                 "dtype": options.dtype, "loss": finite(loss), "first_step_written": bool(message["first_step_file"]),
                 "evaluates": arm.evaluates(), "not_evaluated": "" if arm.evaluates() else "it has no batches to evaluate"}


def run(arm, steps):
    if arm.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    report = time_turn(steps, arm.step, arm.now)
    if arm.device.type == "cuda":
        report["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
    return report


if __name__ == "__main__":
    serve(prepare, run, evaluate=Arm.evaluate)
