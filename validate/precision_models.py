"""Models on which predictions of precision are tried, each with what a step of training needs. Written here, so that nothing has to be
installed; weights and data are random, from a seed.

Half of them are set aside (ASIDE): nothing of a prediction may be fitted to them.
"""

import torch
from torch import nn
from torch.nn import functional as F

SEED = 1


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Mlp(nn.Module):
    """Sixteen residual blocks: 32 linears, cheap, with many casts."""

    def __init__(self, width=256, depth=16):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(x)


class Attention(nn.Module):
    def __init__(self, width, heads, is_causal):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.is_causal = is_causal

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(2, 3) / (q.shape[-1] ** 0.5)
        if self.is_causal:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(mask, -1e4)
        mixed = F.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, width, heads, is_causal):
        super().__init__()
        self.attention = Attention(width, heads, is_causal)
        self.first_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.second_norm = nn.LayerNorm(width)

    def forward(self, x):
        x = self.first_norm(x + self.attention(x))
        return self.second_norm(x + self.down(F.gelu(self.up(x))))


class Transformer(nn.Module):
    def __init__(self, width, heads, depth, words, length, is_causal):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        self.layers = nn.ModuleList(Layer(width, heads, is_causal) for _ in range(depth))

    def body(self, tokens):
        x = self.words(tokens) + self.places
        for layer in self.layers:
            x = layer(x)
        return x


class Bert(Transformer):
    """25 linears and 8 matmuls; queries, keys and values read one tensor."""

    def __init__(self):
        super().__init__(256, 4, 4, 1024, 64, False)
        self.head = nn.Linear(256, 1024)

    def forward(self, tokens):
        return self.head(self.body(tokens))


class Gpt(Transformer):
    """The embedding is the last linear's weight, too: one tensor is used twice."""

    def __init__(self):
        super().__init__(192, 6, 4, 1024, 64, True)
        nn.init.normal_(self.words.weight, std=0.02)  # it is the head's weight, too

    def forward(self, tokens):
        return F.linear(self.body(tokens), self.words.weight)


class Basic(nn.Module):
    """A block of ResNet-18 (He et al., Deep residual learning, 2015)."""

    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.shortcut = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """20 convolutions with branches around them."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        blocks, n_in = [], 64
        for n_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Basic(n_in, n_out, stride), Basic(n_out, n_out, 1)]
            n_in = n_out
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(512, 100)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.blocks(x).mean((2, 3)))


class Inverted(nn.Module):
    """A block of MobileNetV2 (Sandler et al., Inverted residuals and linear bottlenecks, 2018)."""

    def __init__(self, n_in, n_out, stride, expansion=4):
        super().__init__()
        n = n_in * expansion
        self.expand = nn.Conv2d(n_in, n, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n)
        self.depthwise = nn.Conv2d(n, n, 3, stride, 1, groups=n, bias=False)
        self.bn2 = nn.BatchNorm2d(n)
        self.project = nn.Conv2d(n, n_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(n_out)
        self.is_residual = stride == 1 and n_in == n_out

    def forward(self, x):
        y = F.relu6(self.bn1(self.expand(x)))
        y = F.relu6(self.bn2(self.depthwise(y)))
        y = self.bn3(self.project(y))
        return x + y if self.is_residual else y


class Depthwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        shapes = ((16, 24, 2), (24, 24, 1), (24, 40, 2), (40, 40, 1), (40, 80, 2), (80, 80, 1))
        self.blocks = nn.Sequential(*[Inverted(*shape) for shape in shapes])
        self.head = nn.Linear(80, 100)

    def forward(self, x):
        return self.head(self.blocks(F.relu6(self.bn(self.stem(x)))).mean((2, 3)))


class TwoBranches(nn.Module):
    """A branch of convolutions and one of linears on the same picture, and a linear that reads both."""

    def __init__(self):
        super().__init__()
        self.near = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
                                  nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU())
        self.far = nn.Sequential(nn.Linear(3 * 32 * 32, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                 nn.Linear(512, 1024))
        self.both = nn.Linear(2048, 512)
        self.head = nn.Linear(512, 100)

    def forward(self, x):
        near = self.near(x).flatten(1)
        far = self.far(x.flatten(1))
        return self.head(F.relu(self.both(torch.cat((near, far), 1))))


def _pictures(batch, size):
    return lambda generator: (torch.randn(batch, 3, size, size, generator=generator),
                              torch.randint(100, (batch,), generator=generator))


def _tokens(batch, length, words):
    def make(generator):
        tokens = torch.randint(words, (batch, length), generator=generator)
        return tokens, tokens.roll(-1, 1)

    return make


def _vectors(batch, width):
    def make(generator):
        x = torch.randn(batch, width, generator=generator)
        return x, x.roll(1, 1).tanh()

    return make


def classes_loss(given, wanted):
    return F.cross_entropy(given.reshape(-1, given.shape[-1]), wanted.reshape(-1))


def distance_loss(given, wanted):
    return F.mse_loss(given, wanted)


MODELS = {  # name -> (model, data of a step, loss)
    "mlp": (Mlp, _vectors(256, 256), distance_loss),
    "bert": (Bert, _tokens(8, 64, 1024), classes_loss),
    "resnet18": (ResNet18, _pictures(4, 64), classes_loss),
    "gpt": (Gpt, _tokens(8, 64, 1024), classes_loss),
    "depthwise": (Depthwise, _pictures(16, 64), classes_loss),
    "two_branches": (TwoBranches, _pictures(64, 32), classes_loss),
}
ASIDE = ("gpt", "depthwise", "two_branches")


class Training:
    """A model with its data: step() trains it once. `seed` is of weights and data both."""

    def __init__(self, name, seed=SEED, rate=1e-3, n_batches=8):
        make, data, loss = MODELS[name]
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        self.model = make()
        self.batches = [data(generator) for _ in range(n_batches)]
        self.loss = loss
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=0.9)
        self.n_steps = 0

    def step(self):
        x, wanted = self.batches[self.n_steps % len(self.batches)]
        self.n_steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(x), wanted)
        loss.backward()
        self.optimizer.step()
        return loss.item()
