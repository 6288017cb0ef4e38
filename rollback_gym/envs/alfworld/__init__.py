"""ALFWorld: household tasks in text, played by a native engine on the original game files."""
