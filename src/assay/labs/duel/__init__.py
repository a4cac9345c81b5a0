"""Teacher-anchored duels of models: see the rooms of this package, and docs/labs/duel.md for what they are for."""
