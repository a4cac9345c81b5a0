"""The turn corpus of duels: traces become views, views become turns, and a chain of manifests names them."""
