"""A real classifier of chemical reactions beside transformers: the same predictions, also in 8 and 4 bits.

rxnfp (Schwaller et al. 2021, https://doi.org/10.1038/s42256-020-00284-w) ships a BERT of 12 layers that tells
50 classes of reactions. Its weights are a pickle, which Switchyard does not read; `folder` makes of them what it
does.

    pip download --no-deps rxnfp==0.1.0
    python3 rxnfp_peer.py folder rxnfp-0.1.0-py3-none-any.whl rxnfp
    python3 rxnfp_peer.py predict rxnfp uspto50k.tsv rows.tsv peer.json    # by transformers; writes rows.tsv
    switchyard predict rxnfp --from rows.tsv --text-column text --jsonl ours.jsonl
    switchyard predict rxnfp --from rows.tsv --text-column text --jsonl int8.jsonl \\
        --set linear.backend=int8/dynamic
    python3 rxnfp_peer.py compare peer.json ours.jsonl int8.jsonl

The reactions are a table with the columns class (1 to 10), reactants and product. Which of the ten a class of the
model belongs to is what most of every other reaction says; accuracy is of the rest.

Needs torch, transformers, safetensors, tokenizers (requirements.txt).
"""
import collections
import csv
import io
import json
import os
import sys
import zipfile

MODEL = "rxnfp/models/transformers/bert_ft_10k_25s/"
# Tokens of SMILES, as rxnfp cuts them.
TOKENS = (r"(\%\([0-9]{3}\)|\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\||\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?"
          r"|>>?|\*|\$|\%[0-9]{2}|[0-9])")
KEPT = ("attention_probs_dropout_prob", "hidden_act", "hidden_dropout_prob", "hidden_size",
        "initializer_range", "intermediate_size", "layer_norm_eps", "max_position_embeddings",
        "num_attention_heads", "num_hidden_layers", "type_vocab_size", "vocab_size", "pad_token_id")


def make_folder(wheel, folder):
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification

    files = zipfile.ZipFile(wheel)
    told = json.loads(files.read(MODEL + "config.json"))
    classes = told["num_labels"]
    config = BertConfig(**{key: told[key] for key in KEPT},
                        id2label={i: f"c{i}" for i in range(classes)},
                        label2id={f"c{i}": i for i in range(classes)})
    model = BertForSequenceClassification(config)
    pickled = io.BytesIO(files.read(MODEL + "pytorch_model.bin"))
    weights = torch.load(pickled, map_location="cpu", weights_only=True)
    model.load_state_dict(weights)
    model.save_pretrained(folder)
    words = files.read(MODEL + "vocab.txt").decode().splitlines()
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(TOKENS), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")])
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.save(os.path.join(folder, "tokenizer.json"))


def predict(folder, table, rows_file, peer_file):
    import torch
    from tokenizers import Tokenizer
    from transformers import BertForSequenceClassification

    with open(table) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    texts = [row["reactants"] + ">>" + row["product"] for row in rows]
    with open(rows_file, "w") as file:
        file.write("text\n" + "".join(text + "\n" for text in texts))
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_truncation(model.config.max_position_embeddings)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    predicted = [0] * len(ids)
    with torch.no_grad():
        for first in range(0, len(order), 64):
            part = order[first:first + 64]
            longest = len(ids[part[-1]])
            batch = torch.zeros(len(part), longest, dtype=torch.long)
            mask = torch.zeros_like(batch)
            for row, i in enumerate(part):
                batch[row, :len(ids[i])] = torch.tensor(ids[i])
                mask[row, :len(ids[i])] = 1
            labels = model(input_ids=batch, attention_mask=mask).logits.argmax(-1).tolist()
            for i, label in zip(part, labels):
                predicted[i] = label
    with open(peer_file, "w") as file:
        json.dump({"predicted": predicted, "class": [int(row["class"]) for row in rows]}, file)


def compare(peer_file, files):
    with open(peer_file) as file:
        peer = json.load(file)
    votes = collections.defaultdict(collections.Counter)
    for label, its_class in list(zip(peer["predicted"], peer["class"]))[::2]:
        votes[label][its_class] += 1
    of_label = {label: counts.most_common(1)[0][0] for label, counts in votes.items()}

    def accuracy(labels):
        rest = list(zip(labels, peer["class"]))[1::2]
        return sum(of_label.get(label) == its_class for label, its_class in rest) / len(rest)

    print(f"transformers: accuracy {accuracy(peer['predicted']):.4f} of {len(peer['class']) // 2}")
    for name in files:
        with open(name) as file:
            labels = [int(json.loads(line)["label"][1:]) for line in file]
        same = sum(ours == theirs for ours, theirs in zip(labels, peer["predicted"]))
        print(f"{name}: {same} of {len(labels)} predictions are the same, accuracy {accuracy(labels):.4f}")


if __name__ == "__main__":
    command, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if command == "folder" and len(arguments) == 2:
        make_folder(*arguments)
    elif command == "predict" and len(arguments) == 4:
        predict(*arguments)
    elif command == "compare" and len(arguments) >= 2:
        compare(arguments[0], arguments[1:])
    else:
        sys.exit(__doc__)
