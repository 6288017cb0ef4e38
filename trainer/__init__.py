"""The reference trainer. Torch is imported nowhere else."""
