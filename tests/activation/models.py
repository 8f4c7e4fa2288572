"""Models as people write them, small: what surgery is tried on."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class BasicBlock(nn.Module):
    """torchvision's residual block: one in-place ReLU, called twice."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """The same with three convolutions, whose ReLU sees two widths."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(4 * width, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 16, 2))
        self.layer2 = nn.Sequential(Bottleneck(4))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, 4, 1)
        self.fc2 = nn.Conv2d(4, channels, 1)
        self.activation = nn.ReLU()
        self.scale_activation = nn.Hardsigmoid()

    def forward(self, x: Tensor) -> Tensor:
        scale = F.adaptive_avg_pool2d(x, 1)
        scale = self.scale_activation(self.fc2(self.activation(self.fc1(scale))))
        return scale * x


class MobileNet(nn.Module):
    """ReLU6, Hardswish, depthwise convolutions, squeeze and excitation."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1),
            nn.BatchNorm2d(8),
            nn.Hardswish(),
            nn.Conv2d(8, 8, 3, 1, 1, groups=8),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            SqueezeExcitation(8),
            nn.Conv2d(8, 12, 1),
        )
        self.classifier = nn.Sequential(nn.Linear(12, 16), nn.Hardswish(), nn.Linear(16, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


class VGG(nn.Sequential):
    """One in-place ReLU instance, at every place of a Sequential."""

    def __init__(self) -> None:
        relu = nn.ReLU(inplace=True)
        super().__init__(
            nn.Conv2d(3, 6, 3, padding=1),
            relu,
            nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1),
            relu,
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(32, 16),
            relu,
            nn.Dropout(),
            nn.Linear(16, 5),
        )


class UNet(nn.Module):
    """Two levels with a skip connection, and a sigmoid for its output."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.LeakyReLU(0.1))
        self.middle = nn.Sequential(nn.Conv2d(6, 10, 3, 2, 1), nn.ELU())
        self.up = nn.ConvTranspose2d(10, 6, 2, 2)
        self.mix = nn.Conv2d(12, 6, 3, padding=1)
        self.head = nn.Conv2d(6, 1, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down(x)
        wide = F.leaky_relu(self.up(self.middle(skip)), 0.1, inplace=True)
        return self.sigmoid(self.head(F.relu(self.mix(torch.cat([skip, wide], 1)))))


class Net1d(nn.Module):
    """A 1-D CNN with PReLU, Mish and a plain Tanh."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(2, 6, 5, padding=2), nn.PReLU(), nn.Conv1d(6, 8, 5, 2), nn.Mish()
        )
        self.hidden = nn.Linear(8, 7)
        self.tanh = nn.Tanh()
        self.head = nn.Linear(7, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.tanh(self.hidden(self.body(x).mean(-1))))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor, padding: Tensor | None = None) -> Tensor:
        return self.head(self.encoder(x, src_key_padding_mask=padding).mean(1))


class MLP(nn.Module):
    """Functional calls of every kind, dropout that depends on the mode, an optional argument."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in ((4, 6), (6, 7), (7, 8)))
        self.last = nn.Linear(8, 9)
        self.head = nn.Linear(9, 5)

    def forward(self, x: Tensor, scale: float = 1.0, extra: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = F.relu(layer(x))
        x = F.dropout(x, 0.2, self.training)
        if extra is not None:
            x = x + extra
        x = self.last(x * scale)
        x.relu_()
        gate = torch.sigmoid(x)
        return self.head(F.gelu(x, approximate="tanh") + x * gate)


class SwiGLU(nn.Module):
    """Llama's gated unit, with a function for its gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(8, 12)
        self.up_proj = nn.Linear(8, 12)
        self.down_proj = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
