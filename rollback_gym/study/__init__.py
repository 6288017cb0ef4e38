"""What a researcher does with records: errors injected, datasets made, failures diagnosed, pages drawn."""
