"""Ordinary torch modules, as users write them: two that can be networks, and some that cannot."""

import numpy as np
import torch
from torch import nn


class Values(nn.Module):
    """Q-values, written like CleanRL's; small."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        channels = stack * (frame_shape[2] if len(frame_shape) == 3 else 1)
        self.network = nn.Sequential(
            nn.Conv2d(channels, 4, 8, stride=8),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(8),
            nn.ReLU(),
            nn.Linear(8, num_actions),
        )
        self.network(torch.zeros(1, channels, *frame_shape[:2]))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W), 0 to 255 -> (B, A)."""
        values: torch.Tensor = self.network(frames / 255.0)
        return values


class PolicyAndValues(nn.Module):
    """Logits and values (B, 1), with a constant."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        self.body = Values(stack, frame_shape, 8)
        self.actor = nn.Linear(8, num_actions)
        self.critic = nn.Linear(8, 1)
        self.scale: torch.Tensor
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, C, H, W), 0 to 255 -> (B, A) and (B, 1)."""
        features = torch.relu(self.body(frames)) * self.scale
        return self.actor(features), self.critic(features)


class Float32Only(Values):
    """Turns what it is given into float32, whatever its parameters are."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(frames.float())


class WithBatchNorm(Values):
    """Has running means."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.norm = nn.BatchNorm1d(num_actions)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        normed: torch.Tensor = self.norm(super().forward(frames))
        return normed


class WithBatchNormOfItself(Values):
    """Normalises by the batch that it is given, and keeps nothing."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.norm = nn.BatchNorm2d(stack, track_running_stats=False)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(self.norm(frames))


class LessTheBatch(Values):
    """Divides by what a batch of one does not have."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(frames) * (len(frames) - 1) / (len(frames) - 1)


class Squeezed(Values):
    """Loses the axis of a batch of one."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A), or (A,)."""
        return super().forward(frames).squeeze()


class WithRandomFeatures(Values):
    """Has a constant that its constructor draws with torch, and one that no state_dict holds."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.factors: torch.Tensor
        self.shifts: torch.Tensor
        self.register_buffer("factors", torch.randn(num_actions))
        self.register_buffer("shifts", torch.randn(num_actions), persistent=False)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(frames) * self.factors + self.shifts


class WithNumpyFeatures(WithRandomFeatures):
    """Draws them where no seed of torch's reaches."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.shifts = torch.from_numpy(np.random.default_rng().standard_normal(num_actions, np.float32))


class WithHiddenFeatures(Values):
    """The same, and no buffer."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.factors = np.random.default_rng().uniform(1.0, 2.0)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(frames) * self.factors


class WithDropout(Values):
    """Answers by chance."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return nn.functional.dropout(super().forward(frames), training=self.training)


class WithUnusedLayer(Values):
    """Has a layer that nothing depends on."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.unused = nn.Linear(2, 2)


class WithFrozenLayer(Values):
    """Has a parameter that is not to be learned."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions)
        self.frozen = nn.Parameter(torch.ones(1), requires_grad=False)


class OneTooMany(Values):
    """Has a value for an action that is not there."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(stack, frame_shape, num_actions + 1)


class WithoutParameters(nn.Module):
    """Has nothing to learn."""

    def __init__(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()


class OfAnEnvironment(nn.Module):
    """Is made of something else."""

    def __init__(self, environment: object) -> None:
        super().__init__()


class DividedByZero(Values):
    """Answers what is no number."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(frames) / 0.0


class Detached(Values):
    """Has no gradient."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, A)."""
        return super().forward(frames).detach()
