"""Step 21: whether sound evidence is evidence of somebody that is believed."""

from assay.kernel.digests import to_text
from assay.kernel.keys import PublicKey, encode_public
from assay.kernel.roles import AUTHOR
from assay.verifier.examination import Examination
from assay.verifier.policy import Policy
from assay.verifier.result import KeyMet

__all__ = ["check_trust"]


def check_trust(exam: Examination, policy: Policy | None, expect_head: str | None) -> None:
    """Step 21: keys, registration and head are those the policy believes; names every key that was met.

    Args:
        exam: The bundle, examined.
        policy: What is believed, or ``None``: then nothing is, and the bundle is at most consistent.
        expect_head: The hash of the last checkpoint, got by another way, or ``None``.
    """
    step = exam.step("trust")
    head = to_text(exam.points[-1].hash) if exam.points else None
    exam.result.facts["head"] = head
    for key in exam.manifest.signers:
        believed = _is_believed(exam, policy, key) if policy else None
        exam.result.keys.append(KeyMet(key.role, key.key_id, encode_public(key.raw), believed))
        if believed is False:
            step.fail(key.key_id, f"the policy does not believe the {key.role} key {encode_public(key.raw)}")
    registration = exam.result.facts.get("registration")
    if policy and policy.registration is not None and policy.registration != registration:
        step.fail("registration", f"the policy believes {policy.registration}, the bundle holds {registration}")
    for expected in (expect_head, policy.head if policy else None):
        if expected is not None and expected != head:
            step.fail("head", f"expected the last checkpoint {expected}, got {head}")
    if policy is None and step.status == "passed":
        step.leave("unchecked", "no trust policy was given: whose keys these are is not known")


def _is_believed(exam: Examination, policy: Policy, key: PublicKey) -> bool:
    # The author's signature over the seal vouches for every key that the seal names.
    author = next((signer for signer in exam.manifest.signers if signer.role == AUTHOR), None)
    vouched = author is not None and exam.sealed is not None and encode_public(author.raw) in policy.authors
    return vouched or encode_public(key.raw) in policy.keys
