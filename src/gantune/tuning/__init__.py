"""The loop "try, measure, keep or undo" around somebody else's training script, which stays as it is."""
