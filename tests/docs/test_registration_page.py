"""The page of the registration file names every member there is, and every word that stands for a choice."""

from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from assay.labs.experiment.registration import Experiment
from assay.labs.experiment.signals import SIGNALS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "registration.md").read_text()


def names_of(model):
    """The members of a model and of the models inside it, as the file writes them."""
    for name, field in model.model_fields.items():
        yield field.alias or name
        for part in [field.annotation, *get_args(field.annotation)]:
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from names_of(part)


def missing_from(page):
    words = {*names_of(Experiment), *SIGNALS, *(str(v) for vs in SIGNALS.values() for v in vs if isinstance(v, str))}
    return sorted(word for word in words if not any(form in page for form in (f"`{word}`", f".{word}`", f"`{word}.")))


def test_the_page_names_every_member_and_signal():
    assert missing_from(PAGE) == []


@pytest.mark.parametrize("word", ["seenBefore", "exactUpTo", "above-zero"])
def test_a_word_that_is_not_there_would_be_noticed(word):
    assert missing_from(PAGE.replace(word, "…")) == [word]
