"""What several labs register as data: predicates, admission stages, funnels, selections and decision tables."""
