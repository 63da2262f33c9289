"""gantune makes a GAN fast and proves it."""
