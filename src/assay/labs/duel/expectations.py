"""What a duel's contract expects of each member, in plain words."""

from collections.abc import Mapping
from typing import Final

from assay.rules.problems import Expectations

__all__ = ["EXPECTATIONS"]

_DIGEST: Final = "the digest of the weights: sha256: and 64 small hex digits, as `assay models list` prints it"
_MODEL: Final = "a model such as local:smollm2-135m-instruct (`assay models list` shows what there is)"
_SHARE: Final = "a number from 0 to 1"
_TOKENS: Final = "a number of tokens, at least 1"
_SEED: Final = "a seed: a whole number from 0 to 2^53−1"
_RECIPE: Final = "an object whose kind is noise or distil"

_SIDE: Final[Mapping[str, str]] = {
    "": "an object {name, model, weights, recipe}",
    ".name": "what the side is called",
    ".model": _MODEL,
    ".weights": _DIGEST,
    ".recipe": _RECIPE,
    ".recipe.kind": "noise or distil",
    ".recipe.scale": "a number above 0: noise in standard deviations of each matrix",
    ".recipe.seed": _SEED,
    ".recipe.lessons": "a whole number, at least 1: turns of the corpus that are learnt from",
    ".recipe.steps": "a whole number, at least 1",
    ".recipe.learningRate": "a number above 0 and at most 1",
    ".recipe.maxTokens": _TOKENS,
}

_RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    "noise": ("kind", "scale", "seed"),
    "distil": ("kind", "lessons", "steps", "learningRate", "maxTokens", "seed"),
}

_MEMBERS: Final[Mapping[str, str]] = {
    "lab": "duel",
    "version": "1, the version that this release reads",
    "id": "a name of small letters, digits and hyphens, at most 100 long",
    "question": "the question in a sentence",
    "contract": "an object {version, history}",
    "contract.version": "a whole number, at least 1",
    "contract.history": "a list of {version, since, what}, at least one",
    "contract.history[]": "an object {version, since, what}",
    "contract.history[].version": "a whole number, at least 1",
    "contract.history[].since": "when the version came into force, as text",
    "contract.history[].what": "what the version changed",
    "seenBefore": "a list of {who, what}, at least one: the corpus exists, so somebody may have seen it",
    "seenBefore[]": "an object {who, what}",
    "seenBefore[].who": "who had seen the corpus or the models, or had not",
    "seenBefore[].what": "what they had seen, or 'nothing'",
    "teacher": "an object {model, weights}",
    "teacher.model": _MODEL,
    "teacher.weights": _DIGEST,
    **{f"king{path}": text for path, text in _SIDE.items()},
    **{f"challenger{path}": text for path, text in _SIDE.items()},
    "challenger": "an object {name, key, model, weights, recipe}",
    "challenger.key": "the participant's key as text; the slice is drawn by the beacon and this key",
    "corpus": "an object {store, manifest}",
    "corpus.store": "the folder that holds the corpus",
    "corpus.manifest": "the SHA-256 of the corpus manifest in 64 small hex digits",
    "slice": "an object {beacon, beaconFrom, turns}",
    "slice.beacon": "a text that nobody could know before the models were fixed, such as a block hash",
    "slice.beaconFrom": "a sentence that says where the beacon comes from, and who could have chosen it",
    "slice.turns": "a whole number from 2 to 100,000",
    "dialects": "a list of the action dialects that are admitted, at least one",
    "dialects[]": "the name of a dialect",
    "duel": "an object with the numbers that decide",
    "duel.scoreMode": "reason, min_rg or min_rga",
    "duel.tau": "a number from 0 to 10; 0 takes the plain mean",
    "duel.bandC": "a number, at least 0",
    "duel.bandFloor": "a number from 0 to 10",
    "duel.forfeitTurnScore": "a number from −10 to 0",
    "duel.kSigma": "a number, at least 0",
    "duel.minMargin": "a number from 0 to 10",
    "duel.minThoughtChars": "a whole number, at least 0; 0 asks nothing",
    "duel.causalityGamma": f"{_SHARE}; 0 asks nothing",
    "duel.causalityTau": "a number from 0 to 10",
    "duel.leakShare": "a number above 0 and at most 1",
    "duel.teacherSamples": "a whole number from 1 to 64",
    "duel.requireThinkClose": "true or false",
    "duel.temperature": "a number from 0 to 2",
    "duel.maxThoughtTokens": _TOKENS,
    "duel.maxActionTokens": _TOKENS,
    "duel.maxTokensByDialect": "an object {dialect: {thought, action}}",
    "duel.maxTokensByDialect.*": "an object {thought, action}",
    "duel.maxTokensByDialect.*.thought": _TOKENS,
    "duel.maxTokensByDialect.*.action": _TOKENS,
    "duel.maxLeftOutShare": _SHARE,
    "probes": "an object {injectability, protocol}",
    "probes.injectability": "an object {turns}",
    "probes.injectability.turns": "a whole number from 0 to 100; 0 does not ask",
    "probes.protocol": "an object {mode, minPassRate, samples, temperature, maxTokens}",
    "probes.protocol.mode": "off, shadow or enforce",
    "probes.protocol.minPassRate": _SHARE,
    "probes.protocol.samples": "a whole number from 1 to 100",
    "probes.protocol.temperature": "a number from 0 to 2",
    "probes.protocol.maxTokens": _TOKENS,
    "architecture": "a list of objects; a side's config.json must hold one of them",
    "architecture[]": "an object of members that a model's config.json must hold",
    "sequential": "null, or an object {alpha, clip, minTurns}",
    "sequential.alpha": "a number above 0 and at most 0.5",
    "sequential.clip": "a number above 0 and at most 10: differences are clipped to ±clip",
    "sequential.minTurns": "a whole number, at least 2",
    "run": "an object {concurrency}",
    "run.concurrency": "a whole number from 1 to 4096: turns under way at once",
}

EXPECTATIONS: Final = Expectations(
    members=_MEMBERS, of_kind={f"{side}.recipe": _RECIPES for side in ("king", "challenger")}
)
"""What every member of a contract should be."""
