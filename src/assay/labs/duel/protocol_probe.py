"""The chat probe: whether a challenger works as a chat model, before anything of it is scored.

A model may score well and still be of no use in a client: it never closes its thought, or closes it and shows nothing.
Each prompt is asked a few times, and each reply judged by its form alone (facts 7.2). What a model says is not judged,
and a fault of whoever serves it is raised and never counted as a reply.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, Literal, TypeAlias

from assay.kernel.errors import BadInput
from assay.labs.duel.dialects import find_dialect
from assay.labs.duel.eras import Era
from assay.labs.duel.playing import sample_seed
from assay.labs.duel.probe_prompts import PROMPTS, Expects, ProbePrompt
from assay.labs.duel.records import Sample
from assay.labs.duel.rendering import think_prompt
from assay.labs.duel.requests import ask_all
from assay.labs.duel.sections import Protocol
from assay.models.errors import BadAnswer, ContextTooLong
from assay.models.protocol import Model, Sampling
from assay.stats.exact import read_fraction

__all__ = [
    "IN_FLIGHT",
    "Judgement",
    "ProbeReply",
    "ProbeResult",
    "Reason",
    "Reply",
    "Summary",
    "judge_reply",
    "probe",
    "summarise_replies",
]

Reason: TypeAlias = Literal[
    "no_think_close",
    "unexpected_tool_call",
    "empty_content",
    "no_tool_call",
    "multiple_tool_calls",
    "template_refuses",
]

IN_FLIGHT: Final = 8
"""Requests at once."""

# Controls, fillers, joiners, marks of direction, selectors and tags: a fixed list, since Unicode's own tables grow.
_INVISIBLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_CLOSE: Final = "</think>"
_WHO: Final = "protocol-probe"
_REASONS_SHOWN: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is found of one reply.

    Args:
        reasons: What it fails by; none for a good reply.
        think_closed: Whether the thought was closed.
        content_chars: Characters of visible text, without outer whitespace; those before the last tool call.
        tool_calls: Tool calls in the visible part.
    """

    reasons: tuple[Reason, ...]
    think_closed: bool
    content_chars: int
    tool_calls: int

    @property
    def ok(self) -> bool:
        """Whether the reply is good."""
        return not self.reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply to be judged; the text is None where the model's own template refused the conversation."""

    prompt: str
    expects: Expects
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is found of all replies.

    Args:
        n: Replies.
        n_ok: Good ones.
        closed: Those whose thought was closed.
        min_pass_rate: The share that has to be good.
        by_reason: How many replies failed by each reason, in the order in which they were first met.
        by_prompt: The reasons of each prompt's last failing reply; none where all were good.
    """

    n: int
    n_ok: int
    closed: int
    min_pass_rate: float
    by_reason: Mapping[Reason, int]
    by_prompt: Mapping[str, tuple[Reason, ...]]

    @property
    def pass_rate(self) -> float:
        """Share of good replies; 0 without any reply."""
        return self.n_ok / self.n if self.n else 0.0

    @property
    def think_close_rate(self) -> float:
        """Share of replies whose thought was closed; 0 without any reply."""
        return self.closed / self.n if self.n else 0.0

    @property
    def passed(self) -> bool:
        """Whether enough replies are good, compared exactly; without a reply nothing is passed."""
        return self.n > 0 and Fraction(self.n_ok, self.n) >= read_fraction(self.min_pass_rate)

    @property
    def detail(self) -> str:
        """The network's text on a challenger that did not pass: the pass rate, and its two most frequent reasons."""
        most = sorted(self.by_reason.items(), key=lambda item: -item[1])[:_REASONS_SHOWN]
        reasons = ",".join(f"{reason}={count}" for reason, count in most)
        return f"pass_rate={self.pass_rate:.2f}<{self.min_pass_rate};{reasons}"

    @property
    def says(self) -> str:
        """The finding in words, passed or not."""
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.by_reason.items())
        said = f"{self.n_ok} of {self.n} replies are good, {self.min_pass_rate:g} asked for"
        return f"{said}: {reasons}" if reasons else said


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReply:
    """One reply as it came: the prompt's name, which sample of it, and the text.

    The text is None where the template refused, and where the reply is left out for a fault of ours, whose name
    ``left_out`` then is.
    """

    prompt: str
    number: int
    sample: Sample | None
    left_out: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """All replies, by prompt and then by number, and what is found of them."""

    replies: tuple[ProbeReply, ...]
    summary: Summary


def judge_reply(
    text: str, expects: Expects, era: Era, *, think_stripped: bool = False, structured_tool_calls: int = 0
) -> Judgement:
    """What is found of a reply.

    In the safe era text of nothing but invisible characters is empty, and text beside a structured call counts as
    content, which the network passed over.

    Args:
        text: As generated after the opening of the thought; behind a reasoning parser, the visible part alone.
        expects: What the prompt asks for.
        era: Whose reading of the rules applies.
        think_stripped: Whether a reasoning parser took the thought away. It shows text only where the thought was
            closed, so anything to be seen means that it was.
        structured_tool_calls: Calls that such a parser took out of the text.

    Raises:
        BadInput: Nothing known is expected.
    """
    _, closer, rest = text.partition(_CLOSE)
    if think_stripped:
        closed, visible = bool(text.strip()) or structured_tool_calls > 0, text
    else:
        closed, visible = bool(closer), rest
    spans = find_dialect("tool_call").find(visible, era)
    calls = structured_tool_calls + len(spans)
    content = _cut_content(visible, [span.start for span in spans], calls, era)
    empty = closed and _is_empty(content, era)
    return Judgement(
        reasons=tuple(_find_reasons(expects, closed=closed, empty=empty, calls=calls)),
        think_closed=closed,
        content_chars=len(content),
        tool_calls=calls,
    )


def summarise_replies(replies: Sequence[Reply], min_pass_rate: float, era: Era) -> Summary:
    """What is found of these replies together."""
    judged = [(reply.prompt, _judge(reply, era)) for reply in replies]
    by_prompt: dict[str, tuple[Reason, ...]] = {}
    for prompt, judgement in judged:
        if prompt not in by_prompt or not judgement.ok:
            by_prompt[prompt] = judgement.reasons
    return Summary(
        n=len(judged),
        n_ok=sum(judgement.ok for _, judgement in judged),
        closed=sum(judgement.think_closed for _, judgement in judged),
        min_pass_rate=min_pass_rate,
        by_reason=dict(Counter(reason for _, judgement in judged for reason in judgement.reasons)),
        by_prompt=by_prompt,
    )


async def probe(
    model: Model, settings: Protocol, *, seed: int, era: Era = Era.SAFE, in_flight: int = IN_FLIGHT
) -> ProbeResult:
    """Every prompt asked as often as the contract says, and what is found of the replies.

    Args:
        model: The challenger's model.
        settings: The contract's numbers of the probe.
        seed: The slice's seed, which nobody knew when the model was submitted.
        era: Whose reading of the rules applies.
        in_flight: Requests at once; it changes no reply.

    Raises:
        ModelFault: The model could not be asked: a fault of ours, after which nothing is known of the challenger.
    """
    places = [(prompt, number) for prompt in PROMPTS for number in range(settings.samples)]
    asks = [partial(_ask, model, settings, prompt, seed, number) for prompt, number in places]
    replies = tuple(await ask_all(asks, in_flight))
    expected: dict[str, Expects] = {prompt.name: prompt.expects for prompt in PROMPTS}
    texts = [
        Reply(prompt=reply.prompt, expects=expected[reply.prompt], text=reply.sample and reply.sample.text)
        for reply in replies
        if reply.left_out is None
    ]
    return ProbeResult(replies=replies, summary=summarise_replies(texts, settings.min_pass_rate, era))


async def _ask(model: Model, settings: Protocol, prompt: ProbePrompt, seed: int, number: int) -> ProbeReply:
    try:
        text = think_prompt(model.render(prompt.messages))
    except BadInput:
        return ProbeReply(prompt=prompt.name, number=number, sample=None)
    sampling = Sampling(
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        seed=sample_seed(seed, prompt.name, _WHO, number),
    )
    try:
        completion = await model.complete(text, sampling)
    except (BadAnswer, ContextTooLong) as fault:  # ours, and asking again would not help
        if settings.mode == "enforce":  # a reply that is left out would let a side choose what it is judged by
            raise
        return ProbeReply(prompt=prompt.name, number=number, sample=None, left_out=fault.code)
    return ProbeReply(prompt=prompt.name, number=number, sample=Sample.of(completion))


def _judge(reply: Reply, era: Era) -> Judgement:
    if reply.text is None:
        return Judgement(reasons=("template_refuses",), think_closed=False, content_chars=0, tool_calls=0)
    return judge_reply(reply.text, reply.expects, era)


def _find_reasons(expects: Expects, *, closed: bool, empty: bool, calls: int) -> Iterator[Reason]:
    """What a reply fails by, in the network's order."""
    found: dict[Expects, tuple[tuple[Reason, bool], ...]] = {
        "answer": (("unexpected_tool_call", calls > 0), ("empty_content", empty)),
        "tool": (("no_tool_call", calls == 0), ("multiple_tool_calls", calls > 1)),
        "any": (("empty_content", empty and calls == 0), ("multiple_tool_calls", calls > 1)),
    }
    if expects not in found:
        msg = f"a reply is expected to be one of {', '.join(found)}, not {expects!r}"
        raise BadInput(msg)
    if not closed:
        yield "no_think_close"
    checks: tuple[tuple[Reason, bool], ...] = found[expects]
    for reason, holds in checks:
        if holds:
            yield reason


def _cut_content(visible: str, starts: Sequence[int], calls: int, era: Era) -> str:
    """The visible text that counts as content, without outer whitespace."""
    if starts:
        return visible[: starts[-1]].strip()
    return "" if calls and era is Era.NETWORK else visible.strip()


def _is_empty(content: str, era: Era) -> bool:
    """Whether there is nothing to see."""
    return not (content if era is Era.NETWORK else _INVISIBLE.sub("", content).strip())
