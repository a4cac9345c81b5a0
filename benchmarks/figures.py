"""How a benchmark tells its figures: one line each, against its limit."""

__all__ = ["report"]


def report(name: str, value: float, limit: float, unit: str, *, at_least: bool = True) -> bool:
    """Whether a figure keeps its limit; prints the line ``canonical: 9.1x of rfc8785 (limit 5.0) ok``, or ``MISSED``.

    Args:
        name: What was measured.
        value: The figure; an int is printed whole, a float with one decimal.
        limit: The least that will do, or the most if not ``at_least``.
        unit: What follows the number, with its own leading space if there is to be one.
        at_least: Whether more is better.
    """
    kept = value >= limit if at_least else value <= limit
    print(f"{name}: {_show(value)}{unit} (limit {_show(limit)}) {'ok' if kept else 'MISSED'}", flush=True)
    return kept


def _show(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
