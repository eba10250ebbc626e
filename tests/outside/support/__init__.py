"""Processes, scripts and SDK drivers of the outside tests."""
