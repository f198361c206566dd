"""The network: six layers of attention without biases, one unit vector a text (torch).

Per layer x += attention(norm(x)), x += relu(norm(x)); positions are rotations. The vector is a mean of the last layer whose weights are
learned. Beside it there is a short vector for each token, which training uses as a second opinion and hookd does not.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

EPSILON, ROTATION = 1e-5, 10000.0


class Layer(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.n1, self.n2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.qkv, self.wo = matrix(3 * width, width), matrix(width, width, .3)
        self.w1, self.w2 = matrix(inner, width), matrix(width, inner, .3)


def matrix(rows, columns, gain=1.0):
    return nn.Parameter(torch.randn(rows, columns) * gain / math.sqrt(columns))


class Encoder(nn.Module):
    def __init__(self, words, width=256, layers=6, heads=4, inner=768, out=256, token=64, context=160):
        super().__init__()
        self.shape = {"words": words, "width": width, "layers": layers, "heads": heads, "inner": inner, "out": out, "token": token,
                      "context": context}
        self.heads, self.compiled = heads, None
        self.emb = nn.Parameter(torch.randn(words, width) * .25)
        self.layers = nn.ModuleList(Layer(width, inner) for _ in range(layers))
        self.nf, self.pool = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.out, self.tok, self.mlm = matrix(out, width), matrix(token, width), nn.Parameter(torch.eye(width))
        self.scale, self.token_scale = (nn.Parameter(torch.tensor(math.log(20.0))) for _ in range(2))
        half = width // heads
        angles = torch.arange(context + 96).float()[:, None] * ROTATION ** (-torch.arange(0, half, 2).float() / half)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x):
        half, length = x.shape[-1] // 2, x.shape[-2]
        a, b, cos, sin = x[..., :half], x[..., half:], self.cos[:length], self.sin[:length]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def hidden(self, ids, drop=0.0):
        batch, length = ids.shape
        mask = ids > 0
        x = F.dropout(F.embedding(ids, self.emb), drop, self.training)
        width = x.shape[-1]
        for layer in self.layers:
            h = F.rms_norm(x, (width,), layer.n1, EPSILON)
            q, k, v = F.linear(h, layer.qkv).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            h = F.scaled_dot_product_attention(self.rotate(q).to(v.dtype), self.rotate(k).to(v.dtype), v,
                                               attn_mask=mask[:, None, None, :])
            x = x + F.linear(h.transpose(1, 2).reshape(batch, length, width), layer.wo)
            h = F.rms_norm(x, (width,), layer.n2, EPSILON)
            x = x + F.linear(F.relu(F.linear(h, layer.w1)), layer.w2)
        return F.rms_norm(x, (width,), self.nf, EPSILON), mask

    def forward(self, ids, drop=0.0):
        """Unit vector; weights of the tokens; unit vectors of the tokens."""
        run = self.compiled if self.compiled and self.training else self.hidden
        h, mask = run(ids, drop)
        with torch.autocast(h.device.type, enabled=False):
            h = h.float()
            weights = torch.softmax((h @ self.pool).masked_fill(~mask, -1e4), -1)
            vector = F.linear(torch.einsum("bt,btd->bd", weights, h), self.out)
            return F.normalize(vector, dim=-1), weights, F.normalize(F.linear(h, self.tok), dim=-1) * mask[..., None]
