"""The turn corpus of duels: traces of rollouts become views, views become turns, and a chain of manifests names them."""
