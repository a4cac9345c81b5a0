"""What a design can show at all, before anything is measured."""

from fractions import Fraction

from assay.kernel.errors import BadInput
from assay.stats.exact import read_share

__all__ = ["least_clusters", "sign_flip_floor"]


def sign_flip_floor(clusters: int) -> Fraction:
    """The least p-value that the exact two-sided sign-flip test of *clusters* clusters can give: ``2^(1 - C)``.

    However large the effect, the observed signs and their mirror image are two of the 2^C assignments. The floor of a
    one-sided test is half of it.

    Raises:
        BadInput: There is no cluster.

    >>> sign_flip_floor(4)
    Fraction(1, 8)
    """
    if clusters < 1:
        msg = f"a design has at least 1 cluster, not {clusters}"
        raise BadInput(msg)
    return Fraction(1, 2 ** (clusters - 1))


def least_clusters(alpha: float) -> int:
    """The least number of clusters with which the exact two-sided sign-flip test can reject at *alpha*.

    Args:
        alpha: Error rate, strictly between 0 and 1, read as the decimal it shows; rejection is ``p <= alpha``.

    Raises:
        BadInput: *alpha* is out of range.

    >>> least_clusters(0.05), least_clusters(0.01), least_clusters(0.125)
    (6, 8, 4)
    """
    share = read_share(alpha, "alpha")
    # The least C with 2^(C-1) >= 1/alpha, that is with 2^(C-1) >= ceil(1/alpha).
    return (-(-share.denominator // share.numerator) - 1).bit_length() + 1
