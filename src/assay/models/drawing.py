"""Drawing completions token by token, several samples of one prompt side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay.models.protocol import Completion, Sampling
from assay.models.token_model import Drawn
from assay.models.tokens import Tokenizer

__all__ = ["Batch", "Started"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A prompt that a model has read.

    Args:
        hidden: What it made of the prompt's last token, of shape (1, 1, width).
        cache: What it computed for the prompt; the batch takes it as its own.
        ends: Tokens that end a text.
    """

    hidden: Any
    cache: Any
    ends: frozenset[int]


class Batch:
    """Samples of one prompt; one that has ended leaves the batch."""

    def __init__(self, model: Any, tokenizer: Tokenizer, samplings: Sequence[Sampling]) -> None:  # noqa: ANN401 - transformers' own
        """Nothing is drawn yet.

        Args:
            model: As transformers loads it.
            tokenizer: Its own.
            samplings: One for each sample, all with the same token limit.
        """
        self._model = model
        self._tokenizer = tokenizer
        self._samplings = samplings
        self._drawn: list[list[int]] = [[] for _ in samplings]
        self._done: list[Completion | None] = [None] * len(samplings)
        self._generators = [torch.Generator().manual_seed(sampling.seed) for sampling in samplings]

    def draw(self, started: Started, limit: int) -> list[Drawn]:
        """The samples, in order.

        Args:
            started: The prompt.
            limit: Tokens of each sample at most, at least 1.
        """
        cache, alive = started.cache, list(range(len(self._samplings)))
        if len(alive) > 1:
            cache.batch_repeat_interleave(len(alive))
        hidden = started.hidden.expand(len(alive), -1, -1)
        for step in range(limit):
            logits = self._model.lm_head(hidden[:, -1]).to(torch.float64)
            ids = [self._pick(logits[row], at) for row, at in enumerate(alive)]
            last = step + 1 == limit
            kept = [row for row, at in enumerate(alive) if not self._take(at, ids[row], started.ends, last=last)]
            if not kept:
                break
            if len(kept) < len(alive):
                cache.batch_select_indices(torch.tensor(kept))
            alive = [alive[row] for row in kept]
            tokens = torch.tensor([[ids[row]] for row in kept])
            hidden = self._model.model(input_ids=tokens, cache=cache, use_cache=True).last_hidden_state
        pairs = zip(self._done, self._drawn, strict=True)
        return [Drawn(completion=completion, ids=ids) for completion, ids in pairs if completion is not None]

    def _pick(self, logits: torch.Tensor, at: int) -> int:
        temperature = self._samplings[at].temperature
        if temperature <= 0:
            return int(logits.argmax())
        shares = torch.softmax(logits / temperature, dim=-1).cumsum(dim=-1)
        point = torch.rand((), generator=self._generators[at], dtype=torch.float64) * shares[-1]
        return min(int(torch.searchsorted(shares, point, right=True)), len(shares) - 1)

    def _take(self, at: int, token: int, ends: frozenset[int], *, last: bool) -> bool:
        """Whether this sample has ended with the token."""
        drawn, sampling = self._drawn[at], self._samplings[at]
        ended = token in ends
        if not ended:
            drawn.append(token)
        text = self._tokenizer.decode(drawn) if ended or last or sampling.stop else ""
        cut = min((place for stop in sampling.stop if (place := text.find(stop)) >= 0), default=-1)
        if cut < 0 and not ended and not last:
            return False
        finish = "stop" if cut >= 0 or ended else "length"
        shown = text[:cut] if cut >= 0 else text
        self._done[at] = Completion(text=shown, finish=finish, tokens=len(drawn))
        return True
