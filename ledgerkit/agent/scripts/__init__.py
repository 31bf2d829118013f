"""What the scripted agent does: eight tasks, three configurations, and the chances that decide how a run ends."""
