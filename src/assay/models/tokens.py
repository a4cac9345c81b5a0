"""A model's tokenizer and chat template, read from a folder; one instance is used from one thread at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from transformers import AutoTokenizer

from assay.kernel.errors import BadInput, MissingMaterial
from assay.models.protocol import Message

__all__ = ["Encoded", "Tokenizer", "mend_surrogates"]

# Every lone surrogate as the one character that decoders put in its place: as many code points, and as many bytes.
_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A text as tokens.

    Args:
        ids: The tokens.
        offsets: Where each of them begins and ends in the text, in code points.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


def mend_surrogates(text: str) -> str:
    """The text with U+FFFD in the place of each lone surrogate, which no tokenizer takes; no place in it moves."""
    return text if text.isascii() else text.translate(_SURROGATES)


class Tokenizer:
    """What transformers makes of a folder's tokenizer; it adds no special tokens."""

    def __init__(self, name: str, folder: Path) -> None:
        """Loads it.

        Args:
            name: The model's name, for messages.
            folder: Where its files are.

        Raises:
            MissingMaterial: The folder holds no tokenizer that tells where in a text its tokens lie.
        """
        self._name = name
        if not folder.is_dir():
            msg = f"{name}: {folder} is no folder; expected the one that holds the model's tokenizer.json"
            raise MissingMaterial(msg, path=str(folder))
        try:
            self._own = cast(Any, AutoTokenizer).from_pretrained(folder, local_files_only=True)
        except Exception as error:
            msg = f"{name}: {folder} holds no tokenizer that can be loaded: {error}"
            raise MissingMaterial(msg, path=str(folder)) from error
        if not self._own.is_fast:
            msg = f"{name}: the tokenizer in {folder} does not tell where its tokens lie; expected a tokenizer.json"
            raise MissingMaterial(msg, path=str(folder))

    @property
    def end(self) -> int | None:
        """The token that ends a text, if there is one."""
        return cast(int | None, self._own.eos_token_id)

    def encode(self, text: str) -> Encoded:
        """The text as tokens."""
        found = self._own(
            mend_surrogates(text),
            add_special_tokens=False,
            return_offsets_mapping=True,
            truncation=False,
            verbose=False,
        )
        return Encoded(ids=found["input_ids"], offsets=found["offset_mapping"])

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, without the special ones."""
        return cast(str, self._own.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def spell(self, ids: Sequence[int]) -> list[str]:
        """Each token's own text; one that is part of a character gives U+FFFD."""
        decode = self._own.decode
        return [decode([token], skip_special_tokens=False, clean_up_tokenization_spaces=False) for token in ids]

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation in the chat template, ready for the assistant's next words.

        Raises:
            BadInput: The template refuses the conversation, or there is none.
        """
        listed = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return cast(str, self._own.apply_chat_template(listed, tokenize=False, add_generation_prompt=True))
        except Exception as error:
            msg = f"{self._name}: the chat template refuses the conversation: {error}"
            raise BadInput(msg) from error
