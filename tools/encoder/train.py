#!/usr/bin/env python3
"""Trains the encoder on one GPU, about ten minutes: train.py DATA OUT [--start start.npy] [--seconds MASKED CONTRAST NEAR] [--sets DIRECTORY]

DATA is what pairs.py and vocabulary.py have left. Three stages, each as long as it is told to be, so a second run does not give the same
bits:

  masked     guess words that were left out of documents
  contrast   tell the document of a query from the others of a batch, most of which are of the same packages; the token vectors
             do the same on small batches, and what they think teaches the vector
  near       the same with batches of the nearest neighbours inside a package

OUT gets weights.pt for export.py. With --sets, recall of the vectors alone on sets of tests/recall/code/build.py is printed.
"""
import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from model import Encoder
from pairs import KINDS
from tokens import DOCUMENT, DOCUMENT_MAX, MASK, QUERY, QUERY_MAX, Tokenizer

BATCH, SMALL_BATCH, SMALL_BATCHES, NEIGHBOURS, DROP, RATE = 4096, 128, 5, 15, .05, 1.5e-3
SHARE = {"doc": .22, "web": .18, "name": .04, "mod": .04, "cmt": .06, "head": .05, "ict": .05, "pat": .12, "wn": .05, "prose": .04,
         "qa": .10, "rep": .02, "err": .03}


def rounded(length, to=16):
    return int(math.ceil(length / to) * to)


class Pairs:
    """The pairs, on the GPU; and where each package begins in each kind."""

    def __init__(self, folder, device):
        kinds, groups = np.load(folder / "kinds.npy"), np.load(folder / "groups.npy")
        queries, documents = np.load(folder / "queries.npy"), np.load(folder / "documents.npy")
        self.query_length, self.document_length = ((a > 0).sum(1).astype(np.int32) for a in (queries, documents))
        self.queries, self.documents = (torch.from_numpy(a.astype(np.int32)).to(device) for a in (queries, documents))
        self.count, self.random, self.ranges = len(kinds), np.random.default_rng(1), {}
        for kind in np.unique(kinds):
            rows = np.nonzero(kinds == kind)[0]
            starts = np.unique(groups[rows], return_index=True)[1]
            self.ranges[int(kind)] = rows[0], len(rows), rows[0] + starts, np.append(starts[1:], len(rows)) - starts
        share = np.array([SHARE[KINDS[kind]] for kind in self.ranges])
        self.share = share / share.sum()

    def kind(self):
        return self.ranges[int(self.random.choice(list(self.ranges), p=self.share))]

    def sample(self, size):
        """A batch of one kind: a quarter of the time from everywhere, else some hundred pairs each of a few packages."""
        first, count, starts, sizes = self.kind()
        if self.random.random() < .25 or count < size // 4 or len(starts) < 2:
            return first + (self.random.integers(0, count, size) if count > size else self.random.permutation(count))
        each = int(self.random.choice([128, 256, 512]))
        weight = np.minimum(sizes, 4000.0) ** .75 * np.where(sizes < 16, .1, 1)
        chosen, total = [], 0
        for group in self.random.choice(len(starts), min(len(starts), 3 * size // each), p=weight / weight.sum(), replace=False):
            take = min(each, sizes[group], size - total)
            chosen.append(starts[group] + self.random.choice(sizes[group], take, replace=False))
            total += take
            if total >= size:
                break
        if total < size:
            chosen.append(first + self.random.integers(0, count, size - total))
        return np.concatenate(chosen)


class Training:
    def __init__(self, pairs, model, device):
        self.pairs, self.model, self.device, self.neighbours = pairs, model, device, None

    def precision(self):
        return torch.autocast(self.device, dtype=torch.bfloat16)

    def stage(self, name, seconds, rate, step):
        if seconds <= 0:
            return
        groups = [{"params": [p for p in self.model.parameters() if p.dim() == 2], "weight_decay": .01},
                  {"params": [p for p in self.model.parameters() if p.dim() != 2], "weight_decay": 0.0}]
        optimizer, began, steps, said = torch.optim.AdamW(groups, lr=rate, betas=(.9, .98)), time.time(), 0, 0
        while (spent := time.time() - began) < seconds:
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1, (steps + 1) / 200) * (.02 + .49 * (1 + math.cos(math.pi * spent / seconds)))
            with self.precision():
                loss = step()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            steps += 1
            if spent - said > 15:
                print(f"{name}: {spent:.0f} s, step {steps}, loss {loss.item():.3f}", flush=True)
                said = spent
        print(f"{name}: {steps} steps", flush=True)

    def masked(self):
        rows, loss = self.pairs.random.integers(0, self.pairs.count, 2048), 0.0
        for part in np.array_split(rows[np.argsort(self.pairs.document_length[rows])], 2):
            ids = self.pairs.documents[torch.from_numpy(part).to(self.device),
                                       :rounded(self.pairs.document_length[part].max())].long()
            hidden = (torch.rand(ids.shape, device=self.device) < .2) & (ids > DOCUMENT)
            how = torch.rand(ids.shape, device=self.device)
            shown = torch.where(hidden & (how < .85), MASK, ids)
            shown = torch.where(hidden & (how > .93), torch.randint_like(ids, 4, self.model.emb.shape[0]), shown)
            h, _ = (self.model.compiled or self.model.hidden)(shown, DROP)
            guess = F.linear(F.linear(h[hidden], self.model.mlm), self.model.emb)
            loss = loss + F.cross_entropy(guess.float(), ids[hidden]) / 2
        return loss

    def encode(self, texts, lengths, rows, parts):
        """In parts of similar length; results in the order of the rows."""
        order, results, width = np.argsort(lengths[rows], kind="stable"), [], texts.shape[1]
        for part in np.array_split(order, parts):
            length = min(width, rounded(lengths[rows[part]].max()))
            vector, weights, tokens = self.model(texts[torch.from_numpy(rows[part]).to(self.device), :length].long(), DROP)
            results.append((vector, F.pad(weights, (0, width - length)), F.pad(tokens.bfloat16(), (0, 0, 0, width - length))))
        back = torch.from_numpy(np.argsort(order)).to(self.device)
        return [torch.cat(values)[back] for values in zip(*results)]

    def contrast(self, rows=None):
        pairs, model = self.pairs, self.model
        rows = pairs.sample(BATCH) if rows is None else rows
        queries, query_weights, query_tokens = self.encode(pairs.queries, pairs.query_length, rows, 1)
        documents, _, document_tokens = self.encode(pairs.documents, pairs.document_length, rows, 4)
        right = torch.arange(len(rows), device=self.device)
        with torch.autocast(self.device, enabled=False):
            scores = model.scale.clamp(max=math.log(60.0)).exp() * (queries @ documents.T)
        same = self.same(rows)
        scores = scores.masked_fill(same, -1e4)
        loss = .6 * F.cross_entropy(scores, right) + .4 * F.cross_entropy(scores.T, right)
        batches = pairs.random.permutation(len(rows) // SMALL_BATCH)[:SMALL_BATCHES]
        for at in batches:
            part = slice(at * SMALL_BATCH, (at + 1) * SMALL_BATCH)
            similar = torch.einsum("qik,djk->qdij", query_tokens[part, :rounded(pairs.query_length[rows[part]].max(), 8)],
                                   document_tokens[part, :rounded(pairs.document_length[rows[part]].max(), 8)])
            best = similar.amax(-1).float()
            second = model.token_scale.clamp(max=math.log(80.0)).exp() * (best * query_weights[part, None, :best.shape[-1]]).sum(-1)
            second = second.masked_fill(same[part, part], -1e4)
            taught = F.kl_div(F.log_softmax(scores[part, part], -1), F.log_softmax(second.detach(), -1), log_target=True,
                              reduction="batchmean")
            loss = loss + .5 * (F.cross_entropy(second, right[:SMALL_BATCH]) + .3 * taught) / len(batches)
        return loss

    def same(self, rows):
        """Pairs whose query or document is that of another one are no wrong answers for it."""
        queries, documents = self.pairs.queries[rows].long(), self.pairs.documents[rows][:, :48].long()
        of_query = (queries * (torch.arange(queries.shape[1], device=self.device) * 7919 + 13)).sum(1)
        of_document = (documents * (torch.arange(48, device=self.device) * 104729 + 7)).sum(1)
        same = (of_query[:, None] == of_query[None]) | (of_document[:, None] == of_document[None])
        return same & ~torch.eye(len(rows), dtype=torch.bool, device=self.device)

    @torch.no_grad()
    def vectors(self, texts, lengths, batch=8192):
        self.model.eval()
        out, order = torch.zeros(len(lengths), self.model.shape["out"], device=self.device), np.argsort(lengths, kind="stable")
        for at in range(0, len(order), batch):
            part = order[at:at + batch]
            rows = torch.from_numpy(part).to(self.device)
            with self.precision():
                out[rows] = self.model(texts[rows, :rounded(lengths[part].max(), 8)].long())[0]
        self.model.train()
        return out

    @torch.no_grad()
    def mine(self):
        """The nearest documents of each query among those of its package."""
        queries = self.vectors(self.pairs.queries, self.pairs.query_length)
        documents = self.vectors(self.pairs.documents, self.pairs.document_length)
        self.neighbours = torch.zeros(self.pairs.count, NEIGHBOURS, dtype=torch.int64, device=self.device)
        for first, count, starts, sizes in self.pairs.ranges.values():
            for start, size in zip(starts, sizes):
                if size <= NEIGHBOURS + 1:
                    self.neighbours[start:start + size] = first + torch.randint(0, count, (size, NEIGHBOURS), device=self.device)
                    continue
                for at in range(start, start + size, 8192):
                    end = min(at + 8192, start + size)
                    scores = queries[at:end] @ documents[start:start + size].T
                    scores[torch.arange(end - at), torch.arange(at - start, end - start)] = -9
                    self.neighbours[at:end] = scores.topk(NEIGHBOURS, 1).indices + start

    def near(self):
        if self.pairs.random.random() < .25:
            return self.contrast()
        first, count, _, _ = self.pairs.kind()
        seeds = torch.from_numpy(first + self.pairs.random.integers(0, count, BATCH // 8)).to(self.device)
        around = self.neighbours[seeds][:, torch.randperm(NEIGHBOURS, device=self.device)[:7]]
        rows = np.array(list(dict.fromkeys(torch.cat([seeds[:, None], around], 1).flatten().tolist())))
        return self.contrast(rows[:max(len(rows) // SMALL_BATCH, 1) * SMALL_BATCH])


def start_values(model, path):
    """Known words begin near what they mean elsewhere: turned into our width, without what all of them share."""
    known = torch.from_numpy(np.load(path).astype(np.float32))
    has = known.abs().sum(1) > 0
    known = known - known[has].mean(0)
    _, _, axes = torch.linalg.svd(known[has], full_matrices=False)
    known = F.normalize(known - (known @ axes[:1].T) @ axes[:1], dim=1) * math.sqrt(model.emb.shape[1]) * .25
    known[~has] = 0
    turn = torch.linalg.qr(torch.randn(model.emb.shape[1], known.shape[1], generator=torch.Generator().manual_seed(3)))[0].T
    with torch.no_grad():
        model.emb.copy_(model.emb * torch.where(has, .4, 1.0)[:, None] + known @ turn)


def recall(training, tokens, sets):
    """Of the vectors alone: the share of queries with a right document among the first ten."""
    def encoded(texts, most, mark):
        ids = np.zeros((len(texts), most), np.int32)
        for at, text in enumerate(texts):
            own = tokens(text, most, mark)
            ids[at, :len(own)] = own
        return training.vectors(torch.from_numpy(ids).to(training.device), (ids > 0).sum(1).astype(np.int32))

    for path in sorted(sets.glob("functions.*.queries.jsonl")):
        queries = [json.loads(line) for line in open(path, encoding="utf-8")]
        docs = [json.loads(line) for line in open(str(path).replace(".queries.", ".docs."), encoding="utf-8")]
        documents = encoded([f"{doc['title']}\n{doc['text']}" for doc in docs], DOCUMENT_MAX, DOCUMENT)
        asked, right = encoded([query["query"] for query in queries], QUERY_MAX, QUERY), 0
        for query, vector in zip(queries, asked):
            own = [at for at, doc in enumerate(docs) if doc["group"] == query["group"]]
            best = (documents[own] @ vector).topk(min(10, len(own))).indices.tolist()
            right += any(docs[own[at]]["id"] in query["relevant"] for at in best)
        print(f"{path.name}: R@10 {right / len(queries):.3f} by vectors alone")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--seconds", type=float, nargs=3, default=(85, 330, 90))
    parser.add_argument("--sets", type=Path)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    tokens, pairs = Tokenizer(args.data / "vocab.txt"), Pairs(args.data, device)
    model = Encoder(len(tokens))
    if args.start:
        start_values(model, args.start)
    training = Training(pairs, model.to(device), device)
    model.train()
    if device == "cuda":
        model.compiled = torch.compile(model.hidden, dynamic=True)
    training.stage("masked", args.seconds[0], RATE, training.masked)
    training.stage("contrast", args.seconds[1], RATE, training.contrast)
    if args.seconds[2] > 0:
        training.mine()
        training.stage("near", args.seconds[2], RATE * .6, training.near)
    torch.save({"shape": model.shape, "weights": model.state_dict()}, args.out / "weights.pt")
    if args.sets:
        recall(training, tokens, args.sets)


if __name__ == "__main__":
    main()
