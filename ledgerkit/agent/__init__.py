"""A small agent that works on real files with real tools, and the maker of the demo runs."""
