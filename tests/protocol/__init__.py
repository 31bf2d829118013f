"""What the protocol allows and what it refuses."""
