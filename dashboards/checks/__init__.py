"""What ../check does. Each module has `check(stage)`, which returns what was done and a list of what is wrong."""
