"""Integrity: hashes of logical rows, chains of runs, Merkle trees, checkpoints, and what verifies them.

Frames in, frames out: nothing here reads or writes a file.
"""
