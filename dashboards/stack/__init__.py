"""Starts the demo and the servers around it, each in a folder that goes away, and asks them things."""
