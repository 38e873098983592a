"""What ../check does. Each module has `check(folder)`, which returns what was done and a list of what is wrong."""
