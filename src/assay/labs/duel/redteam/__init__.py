"""Known attacks on a duel, run against a contract, and a search for unknown ones (facts 16)."""
