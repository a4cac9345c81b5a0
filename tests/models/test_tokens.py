"""A model's tokenizer: offsets of any text, lone surrogates, the chat template, and what is no tokenizer."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput, MissingMaterial
from assay.models.protocol import Message

tokens = pytest.importorskip("assay.models.tokens", exc_type=ImportError)


@pytest.fixture(scope="module")
def tokenizer(tiny_folder):
    return tokens.Tokenizer("folder:tiny", tiny_folder)


@given(st.text(st.characters(), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_offsets_cover_any_text_in_order(tokenizer, text):
    encoded = tokenizer.encode(text)
    assert len(encoded.ids) == len(encoded.offsets)
    starts = [first for first, _ in encoded.offsets]
    assert starts == sorted(starts)
    assert {place for first, last in encoded.offsets for place in range(first, last)} == set(range(len(text)))


def test_a_lone_surrogate_is_the_replacement_character():
    text = "a\ud83db\udc00"
    assert tokens.mend_surrogates(text) == "a\ufffdb\ufffd"
    assert len(tokens.mend_surrogates(text).encode()) == len(text.encode("utf-8", "surrogatepass"))
    assert tokens.mend_surrogates("ä🙂") == "ä🙂"


def test_lone_surrogates_move_nothing(tokenizer):
    assert tokenizer.encode("lie \ud83d there") == tokenizer.encode("lie \ufffd there")


def test_no_special_tokens_are_added_and_tokens_spell_the_text(tokenizer):
    text = "the log files lie"
    ids = tokenizer.encode(text).ids
    assert "".join(tokenizer.spell(ids)) == tokenizer.decode(ids) == text
    assert tokenizer.end not in ids
    assert tokenizer.decode([*ids, tokenizer.end]) == text
    assert tokenizer.spell([tokenizer.end]) == ["<|end|>"]


def test_the_template_renders_and_refuses(tokenizer):
    talk = [Message(role="user", content="where?"), Message(role="assistant", content="here")]
    assert tokenizer.render(talk) == "<|user|>where?<|end|><|assistant|>here<|end|><|assistant|>"
    with pytest.raises(BadInput, match=r"folder:tiny: the chat template refuses the conversation: who\?"):
        tokenizer.render([Message(role="nobody", content="x")])


def test_what_is_no_tokenizer_is_named(tmp_path):
    with pytest.raises(MissingMaterial, match="is no folder"):
        tokens.Tokenizer("x", tmp_path / "none")
    with pytest.raises(MissingMaterial, match="holds no tokenizer that can be loaded"):
        tokens.Tokenizer("x", tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(MissingMaterial, match="holds no tokenizer that can be loaded"):
        tokens.Tokenizer("x", tmp_path)
