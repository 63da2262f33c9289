"""Watch somebody else's training script from inside its process: find steps, time them, record a window."""
