"""Models: completions and teacher-forced log-probabilities, by one protocol over several backends."""
